--- Values between Lua and the wire.

local M = {}

--- Put nil where the wire had null, everywhere in a value; changes it in place.
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
