--- Lines that say what happened, below the window.

local errors = require 'reel.errors'

local M = {}

--- Show a line.
function M.say(text)
  vim.api.nvim_echo({ { text } }, true, {})
end

--- Return a callback of calls that shows an error, and calls `on_result` with a result.
function M.or_show(on_result)
  return function(problem, result)
    if problem then
      return errors.show(problem)
    end
    on_result(result)
  end
end

return M
