--- Chooses with telescope.nvim; see reel.picker.

local M = {}

function M.show(given)
  local actions = require 'telescope.actions'
  local conf = require('telescope.config').values
  local finder = require('telescope.finders').new_table {
    results = given.items,
    entry_maker = function(item)
      local line = given.line(item)
      return { value = item, display = line, ordinal = line }
    end,
  }
  local function attach_mappings(buffer)
    actions.select_default:replace(function()
      local entry = require('telescope.actions.state').get_selected_entry()
      actions.close(buffer)
      if entry then
        given.choose(entry.value)
      end
    end)
    return true
  end
  require('telescope.pickers')
    .new({}, {
      prompt_title = given.title,
      finder = finder,
      sorter = conf.generic_sorter {},
      attach_mappings = attach_mappings,
    })
    :find()
end

return M
