--- Values as Lua has them.

local M = {}

--- Replace null by nil everywhere in a value, in place, and return it. In a list null stays vim.NIL: a hole would end it.
function M.plain(value)
  if value == vim.NIL then
    return nil
  end
  if type(value) == 'table' then
    for key, inner in pairs(value) do
      if inner ~= vim.NIL or type(key) ~= 'number' then
        value[key] = M.plain(inner)
      end
    end
  end
  return value
end

return M
