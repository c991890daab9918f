--- Chooses a conversation with the picker of snacks.nvim.

local summary = require 'reel.summary'

local M = {}

function M.show(agents, choose)
  local items = {}
  for index, agent in ipairs(agents) do
    items[index] = { text = summary.line(agent), agent = agent }
  end
  require('snacks').picker.pick {
    title = 'Conversations',
    items = items,
    format = 'text',
    layout = { preset = 'select' },
    confirm = function(picker, item)
      picker:close()
      if item then
        choose(item.agent)
      end
    end,
  }
end

return M
