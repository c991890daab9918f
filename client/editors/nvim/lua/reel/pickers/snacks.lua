--- Chooses with the picker of snacks.nvim; see reel.picker.

local M = {}

function M.show(given)
  local items = {}
  for index, each in ipairs(given.items) do
    items[index] = { text = given.line(each), value = each }
  end
  require('snacks').picker.pick {
    title = given.title,
    items = items,
    format = 'text',
    layout = { preset = 'select' },
    confirm = function(picker, item)
      picker:close()
      if item then
        given.choose(item.value)
      end
    end,
  }
end

return M
