--- Chooses a conversation with telescope.nvim.

local summary = require 'reel.summary'

local M = {}

function M.show(agents, choose)
  local actions = require 'telescope.actions'
  local conf = require('telescope.config').values
  local finder = require('telescope.finders').new_table {
    results = agents,
    entry_maker = function(agent)
      local line = summary.line(agent)
      return { value = agent, display = line, ordinal = line }
    end,
  }
  local function attach_mappings(buffer)
    actions.select_default:replace(function()
      local entry = require('telescope.actions.state').get_selected_entry()
      actions.close(buffer)
      if entry then
        choose(entry.value)
      end
    end)
    return true
  end
  require('telescope.pickers')
    .new({}, {
      prompt_title = 'Conversations',
      finder = finder,
      sorter = conf.generic_sorter {},
      attach_mappings = attach_mappings,
    })
    :find()
end

return M
