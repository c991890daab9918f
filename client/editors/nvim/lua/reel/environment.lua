--- What the command `reel` finds around it.

local M = {}

--- Return the entries of $PYTHONPATH that are absolute: the others would let `reel` run modules of the current directory.
function M.python_path()
  local entries = vim.split(vim.env.PYTHONPATH or '', ':', { plain = true })
  return table.concat(vim.tbl_filter(function(entry)
    return vim.startswith(entry, '/')
  end, entries), ':')
end

return M
