--- Chooses a conversation with vim.ui.select(), which other plug-ins replace.

local summary = require 'reel.summary'

local M = {}

function M.show(agents, choose)
  vim.ui.select(agents, { prompt = 'Open: ', kind = 'reel', format_item = summary.line }, function(chosen)
    if chosen then
      choose(chosen)
    end
  end)
end

return M
