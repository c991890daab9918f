--- Chooses with vim.ui.select(), which other plug-ins replace; see reel.picker.

local M = {}

function M.show(given)
  vim.ui.select(given.items, { prompt = given.prompt, kind = 'reel', format_item = given.line }, function(chosen)
    if chosen then
      given.choose(chosen)
    end
  end)
end

return M
