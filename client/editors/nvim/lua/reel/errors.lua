--- Errors as the daemon sends them, {code, name, message, data}, and the line that a user sees of one.

local M = {}

function M.text(name, message)
  return ('%s: %s'):format(name, message)
end

--- Make one of our own.
function M.new(name, message)
  return { name = name, message = M.text(name, message), data = { name = name } }
end

--- Show one; nil shows nothing.
function M.show(problem)
  if problem then
    vim.notify(type(problem) == 'table' and problem.message or tostring(problem), vim.log.levels.ERROR)
  end
end

return M
