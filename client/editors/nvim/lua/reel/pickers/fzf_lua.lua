--- Chooses with fzf-lua; see reel.picker.

local M = {}

-- Separates the number of a line, which is not shown, from its text.
local SEPARATOR = '\t'

function M.show(given)
  local lines = {}
  for index, item in ipairs(given.items) do
    lines[index] = index .. SEPARATOR .. given.line(item):gsub(SEPARATOR, ' ')
  end
  require('fzf-lua').fzf_exec(lines, {
    prompt = given.title .. '> ',
    fzf_opts = { ['--delimiter'] = SEPARATOR, ['--with-nth'] = '2..', ['--no-multi'] = true, ['--tiebreak'] = 'index' },
    actions = {
      default = function(selected)
        local index = selected and selected[1] and tonumber(selected[1]:match '^%d+')
        if index then
          given.choose(given.items[index])
        end
      end,
    },
  })
end

return M
