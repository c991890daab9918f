--- Values as Lua has them.

local M = {}

--- Replace null by nil everywhere in a value, in place, and return it.
function M.plain(value)
  if value == vim.NIL then
    return nil
  end
  if type(value) == 'table' then
    for key, inner in pairs(value) do
      value[key] = M.plain(inner)
    end
  end
  return value
end

return M
