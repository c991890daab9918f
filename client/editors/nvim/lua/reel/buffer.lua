--- The buffer of a conversation: the lines that the daemon sends, and folds, headings and marks at their rows. Below
--- them there may be a line of the plug-in's own, the notice.
---
--- Folds are manual ones: setting 200,000 lines then takes 0.02 s, and 0.14 s with the simplest 'foldexpr'.

local fences = require 'reel.fences'
local navigation = require 'reel.navigation'
local scratch = require 'reel.scratch'

local M = {}

local HEADINGS = vim.api.nvim_create_namespace 'reel'
local FOLDS = vim.api.nvim_create_namespace 'reel-folds'
local MARKS = vim.api.nvim_create_namespace 'reel-marks'
local COLOURS = { system = 'ReelSystem', user = 'ReelUser', assistant = 'ReelAssistant', tool = 'ReelTool' }
local SPACES = { HEADINGS, FOLDS, MARKS }
local MOST_WRITERS = 64

-- By the number of the buffer: {rows = those of the daemon, notice = how many lines it has, languages = of fences}.
local known = {}

local function clear(buffer, first, last)
  for _, space in ipairs(SPACES) do
    vim.api.nvim_buf_clear_namespace(buffer, space, first, last)
  end
end

--- Prepare a buffer to show a conversation.
function M.prepare(buffer)
  known[buffer] = { rows = 0, notice = 0, languages = {} }
  clear(buffer, 0, -1) -- :edit leaves what was there
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

function M.forget(buffer)
  known[buffer] = nil
end

--- Return the rows of the headings of messages, from 0. They are marked: a line of a message may look like one.
function M.headings(buffer)
  return vim.tbl_map(function(mark)
    return mark[2]
  end, vim.api.nvim_buf_get_extmarks(buffer, HEADINGS, 0, -1, {}))
end

local function line(buffer, row)
  return vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ''
end

--- Return who is writing, as the headings of drafts say it; these are the last ones.
function M.writers(buffer)
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, HEADINGS, -1, 0, { limit = MOST_WRITERS })) do
    local writing = line(buffer, mark[2]):match '^## assistant · (.*)'
    if not writing then
      break
    end
    table.insert(found, 1, writing)
  end
  return found
end

--- Return the row of the heading of a message, the row after its last line, and whether it is there; otherwise the rows
--- of the message before it.
--- @param seq number|nil nil: the system prompt
function M.section(buffer, seq)
  local rows = M.headings(buffer)
  for index = #rows, 1, -1 do
    local heading = line(buffer, rows[index])
    local found = tonumber(heading:match '^## %a+ #(%d+)$' or heading == '## system' and 0)
    if found and found <= (seq or 0) then
      return rows[index], rows[index + 1] or known[buffer].rows, found == (seq or 0)
    end
  end
  return 0, rows[1] or 0, false
end

local function fold(first, last)
  vim.cmd(('%d,%dfold'):format(first + 1, last + 1))
end

--- Prepare the current window to show a buffer: a window has folds of its own.
function M.dress(buffer)
  vim.cmd 'setlocal foldmethod=manual foldlevel=0 foldenable linebreak' -- vim.wo would also set them for other buffers
  vim.cmd 'normal! zE'
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, FOLDS, 0, -1, { details = true })) do
    fold(mark[2], mark[4].end_row)
  end
end

--- Return the row and the column, from 0, of the first of some texts that is in the lines from one row to another.
local function find(buffer, first, last, texts)
  local lines = vim.api.nvim_buf_get_lines(buffer, first, last, false)
  for _, text in ipairs(texts) do
    for index, each in ipairs(lines) do
      local column = each:find(text.text, 1, true)
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

--- Return the views of the windows with a buffer whose cursor is not on its last line.
function M.views(buffer)
  local found, count = {}, vim.api.nvim_buf_line_count(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    if vim.api.nvim_win_get_cursor(window)[1] < count then
      found[window] = vim.api.nvim_win_call(window, vim.fn.winsaveview)
    end
  end
  return found
end

--- Return windows to what they viewed.
function M.return_to(views)
  for window, view in pairs(views) do
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_call(window, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

--- Replace lines. A cursor on the last line stays on the last line; one on a replaced line stays in its row.
local function replace(buffer, first, last, lines)
  local count, moved = vim.api.nvim_buf_line_count(buffer), {}
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local row = vim.api.nvim_win_get_cursor(window)[1] - 1
    moved[window] = row == count - 1 and math.huge or row >= first and row < last and row or nil
  end
  scratch.set_lines(buffer, first, last, lines)
  count = vim.api.nvim_buf_line_count(buffer)
  for window, row in pairs(moved) do
    local kept = row == math.huge and count or math.min(row + 1, math.max(first + #lines, 1), count)
    if vim.api.nvim_win_get_cursor(window)[1] ~= kept then
      vim.api.nvim_win_set_cursor(window, { kept, 0 })
    end
  end
end

local function add_folds(buffer, folds)
  for _, each in ipairs(folds) do
    vim.api.nvim_buf_set_extmark(buffer, FOLDS, each[1], 0, { end_row = each[2] })
  end
  for _, window in ipairs(#folds > 0 and vim.fn.win_findbuf(buffer) or {}) do
    vim.api.nvim_win_call(window, function()
      for _, each in ipairs(folds) do
        fold(each[1], each[2])
      end
    end)
  end
end

--- Return a time in local time, with the date, because a buffer may stay open past midnight.
function M.clock(time)
  return os.date('%Y-%m-%d %H:%M:%S', math.floor(time / 1000))
end

local function annotate(buffer, patch)
  for _, heading in ipairs(patch.headings) do
    local row, role, _, time = unpack(heading)
    local note = type(time) == 'number' and '· ' .. M.clock(time) or ''
    vim.api.nvim_buf_set_extmark(buffer, HEADINGS, row, 0, {
      virt_text = { { note, 'ReelNote' } },
      end_row = row + 1,
      hl_group = COLOURS[role] or 'ReelDraft',
      strict = false, -- the next row may come with the next patch
    })
  end
  for _, mark in ipairs(patch.marks) do
    vim.api.nvim_buf_set_extmark(buffer, MARKS, mark[1], 0, { virt_text = { { mark[2], 'ReelNote' } } })
  end
end

--- Replace rows as a patch of the daemon says; see docs/protocol.md, "Following as lines".
function M.apply(buffer, patch)
  local shown, first, last = known[buffer], patch.replace[1], patch.replace[2]
  if last > first then
    clear(buffer, first, last)
  end
  replace(buffer, first, shown.rows + shown.notice == 0 and -1 or last, patch.lines) -- an empty buffer has one line
  shown.rows = shown.rows + #patch.lines - (last - first)
  add_folds(buffer, patch.folds)
  annotate(buffer, patch)
  fences.highlight(buffer, patch.lines, shown.languages)
end

--- Return how many rows the daemon's lines have.
function M.rows(buffer)
  return known[buffer].rows
end

--- Show a line below all others, in place of the one there is; nil: none.
function M.notice(buffer, text)
  local shown = known[buffer]
  local lines = text and { ('*%s*'):format(text:gsub('[\r\n]+', ' ')) } or {}
  replace(buffer, shown.rows, shown.rows == 0 and -1 or shown.rows + shown.notice, lines)
  shown.notice = #lines
end

return M
