--- Chooses a conversation with fzf-lua.

local summary = require 'reel.summary'

local M = {}

-- Separates the number of a line, which is not shown, from its text.
local SEPARATOR = '\t'

function M.show(agents, choose)
  local lines = {}
  for index, agent in ipairs(agents) do
    lines[index] = index .. SEPARATOR .. summary.line(agent):gsub(SEPARATOR, ' ')
  end
  require('fzf-lua').fzf_exec(lines, {
    prompt = 'Conversations> ',
    fzf_opts = { ['--delimiter'] = SEPARATOR, ['--with-nth'] = '2..', ['--no-multi'] = true, ['--tiebreak'] = 'index' },
    actions = {
      default = function(selected)
        local index = selected and selected[1] and tonumber(selected[1]:match '^%d+')
        if index then
          choose(agents[index])
        end
      end,
    },
  })
end

return M
