--- The environment that the command `reel` is run with.

local M = {}

--- Return the absolute entries of $PYTHONPATH: the others let `reel` run modules of the current directory.
function M.python_path()
  local entries = vim.split(vim.env.PYTHONPATH or '', ':', { plain = true })
  return table.concat(vim.tbl_filter(function(entry)
    return vim.startswith(entry, '/')
  end, entries), ':')
end

return M
