--- The buffer that shows a conversation: lines, virtual text, folds.

local fences = require 'reel.fences'
local navigation = require 'reel.navigation'
local scratch = require 'reel.scratch'

local M = {}

local SPACE = vim.api.nvim_create_namespace 'reel'
local levels, languages = {}, {}

--- Prepare a buffer to show a conversation.
function M.prepare(buffer)
  levels[buffer], languages[buffer] = {}, {}
  for name, value in pairs {
    buftype = 'nofile',
    bufhidden = 'hide',
    swapfile = false,
    undolevels = -1,
    modifiable = false,
    filetype = 'markdown',
  } do
    vim.bo[buffer][name] = value
  end
  -- The text is other people's: a modeline in it must not set options. This comes after the file type because its
  -- autocommands may set 'modeline'; they run before the buffer has any text.
  vim.bo[buffer].modeline = false
  navigation.map(buffer) -- after the file type, whose own ]] would find headings inside of messages
end

--- Return the rows of the headings of messages, from 0. They are marked: a line of a message may look like one.
function M.headings(buffer)
  return vim.tbl_map(function(mark)
    return mark[2]
  end, vim.api.nvim_buf_get_extmarks(buffer, SPACE, 0, -1, {}))
end

--- Set the options of the windows that show a buffer, with :setlocal: vim.wo would also set them for other buffers.
function M.dress(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    vim.api.nvim_win_call(window, function()
      vim.cmd [[setlocal foldmethod=expr foldexpr=v:lua.require'reel.buffer'.level() foldlevel=0 foldenable linebreak]]
    end)
  end
end

--- Return the fold level of v:lnum.
function M.level()
  local known = levels[vim.api.nvim_get_current_buf()]
  return known and known[vim.v.lnum] or '0'
end

function M.forget(buffer)
  levels[buffer], languages[buffer] = nil, nil
end

local function windows_at_the_end(buffer)
  local last = vim.api.nvim_buf_line_count(buffer)
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] == last
  end, vim.fn.win_findbuf(buffer))
end

local function annotate(buffer, row, marks)
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(buffer, SPACE, row + mark.row, 0, {
      virt_text = { { mark.text, 'ReelNote' } },
      end_row = row + mark.row + 1,
      hl_group = mark.colour,
    })
  end
end

--- Return the row and the column, from 0, of the first of some texts that is in the lines from one row to another.
local function find(buffer, first, last, texts)
  local lines = vim.api.nvim_buf_get_lines(buffer, first, last, false)
  for _, text in ipairs(texts) do
    for index, line in ipairs(lines) do
      local column = line:find(text.text, 1, true)
      if column then
        return first + index - 1, column - 1 + text.offset
      end
    end
  end
end

--- Put the cursor of a window with a buffer on the first of some texts that is in the lines from one row to another, else
--- on the first row.
--- @param texts table a list of {text, offset = where in the text the cursor is put}
function M.go(buffer, first, last, texts)
  local here = vim.api.nvim_get_current_win()
  local window = vim.api.nvim_win_get_buf(here) == buffer and here or vim.fn.win_findbuf(buffer)[1]
  if not window then
    return
  end
  local row, column = find(buffer, first, last, texts)
  vim.api.nvim_win_set_cursor(window, { (row or first) + 1, column or 0 })
  vim.api.nvim_win_call(window, function()
    vim.cmd('normal! zv' .. (row and 'zz' or 'zt'))
  end)
end

--- Replace everything from a row (from 0) on with sections. A cursor on the last line stays on the last line.
--- @return table the row at which each section begins, and the first row after the last section
function M.paint(buffer, row, sections)
  local known, lines, rows = levels[buffer], {}, {}
  for index = #known, row + 1, -1 do
    known[index] = nil
  end
  for index, section in ipairs(sections) do
    rows[index] = row + #lines
    vim.list_extend(lines, section.lines)
    vim.list_extend(known, section.levels)
  end
  rows[#sections + 1] = row + #lines
  local following = windows_at_the_end(buffer)
  vim.api.nvim_buf_clear_namespace(buffer, SPACE, row, -1)
  scratch.set_lines(buffer, row, lines)
  fences.highlight(buffer, lines, languages[buffer])
  for index, section in ipairs(sections) do
    annotate(buffer, rows[index], section.marks)
  end
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
  end
  return rows
end

return M
