--- Searches all conversations, and shows the hits in the buffer reel-search:// or with a picker.

local calls = require 'reel.calls'
local conversation = require 'reel.conversation'
local hits = require 'reel.hits'
local link = require 'reel.link'
local notices = require 'reel.notices'
local scratch = require 'reel.scratch'

local M = {}

local NAME = 'reel-search://'
local PAGE = 50
local MORE = 'm shows more hits'
local WAIT_MS = 500 -- for what was just said
local PARTIAL = 'very many messages have these words, and only the newest were ranked;'
  .. ' a rarer word or a filter finds older ones'
local SPACE = vim.api.nvim_create_namespace 'reel-search'

-- The newest search, and the one in the buffer: {query, show, after, above, reading, stale}, and of the second {buffer, at =
-- the hits by line}.
local newest, shown = nil, nil

--- Return the parameters of the request for the next hits of a search; the connection is open.
local function params(search)
  local ranked = vim.tbl_contains(link.server.features, 'patterns') and { order = 'fresh', wait = WAIT_MS } or {}
  local asked = { query = search.query, limit = PAGE, after = search.after, above = search.above }
  return vim.tbl_extend('error', asked, ranked)
end

--- Read the next hits of a search. A page without hits is not the end: the daemon ends a search after a second.
local function read(search, done)
  search.reading = true
  local function take(problem, page)
    if search.stale then
      return
    end
    if page then
      search.after = page.more and page.next or nil
      if page.more and #page.hits == 0 then
        return read(search, done)
      end
      search.above = #page.hits > 0 and page.hits[#page.hits].agent or search.above
    end
    search.reading = false
    notices.or_show(done)(problem, page)
  end
  calls.connect(function(problem)
    if problem then
      return take(problem)
    end
    calls.send('hits', params(search), take)
  end)
end

local function report(search, page)
  if #page.hits == 0 then
    notices.say('no matches for ' .. search.query)
  end
  for word, others in pairs(page.instead or {}) do
    notices.say(('nothing has %s; showing results for %s'):format(word, table.concat(others, ' and ')))
  end
  if page.partial then
    notices.say(PARTIAL)
  end
  if page.behind > 0 then
    local events = page.behind == 1 and '1 event' or page.behind .. ' events'
    notices.say(('the index is behind: %s cannot be found yet; repeat the search later'):format(events))
  end
end

--- Return the conversation that a hit is shown in, as reel.conversation names it.
local function path(hit, agent)
  local name = agent.alive and agent.name or agent.id
  local replaced = hit.role == 'system' and not (agent.system or ''):find(hit.snippet, 1, true)
  return (hit.live and not replaced) and name or ('%s#%d'):format(name, hit.seq)
end

--- Show the conversation of a hit in the current window, and go to the message. What is not in the conversation any more
--- is shown in the conversation as it was.
local function open(hit)
  calls.send('agent', { hit.agent }, notices.or_show(function(agent)
    if hit.kind == 'note' then
      notices.say(('%s: #%d is a note; reel log %s shows it'):format(agent.name, hit.seq, agent.name))
    end
    local has_place = hit.role or hit.kind == 'note'
    conversation.show(path(hit, agent), agent.id, has_place and hit or nil)
  end))
end

--- Put hits below those that the buffer shows, from a row on.
local function put(search, row, page)
  local more = page.more and { { spans = {} }, { spans = { { MORE, 'note' } } } } or {}
  local lines, colours = {}, {}
  for index, line in ipairs(vim.list_extend(page.lines, more)) do
    lines[index], colours[index] = hits.drawn(line)
    search.at[row + index] = line.hit and page.hits[line.hit + 1]
  end
  scratch.set_lines(search.buffer, row, -1, lines)
  for index, spans in ipairs(colours) do
    for _, each in ipairs(spans) do
      local place = { end_col = each.last, hl_group = each.colour }
      vim.api.nvim_buf_set_extmark(search.buffer, SPACE, row + index - 1, each.first, place)
    end
  end
end

local function prepare(buffer)
  scratch.prepare_list(buffer, 'hide', {
    ['<CR>'] = "<Cmd>lua require('reel.search').open()<CR>",
    m = "<Cmd>lua require('reel.search').more()<CR>",
  })
end

--- Show the first hits in the buffer, in a window of its own.
local function list(search, page)
  local buffer = vim.fn.bufadd(NAME)
  vim.bo[buffer].buftype = 'nofile' -- before it is loaded: it is not a file, and not reported as a new one
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd('silent sbuffer ' .. buffer)
  end
  prepare(buffer)
  vim.cmd 'setlocal wrap linebreak breakindent'
  shown, search.buffer, search.at = search, buffer, {}
  put(search, 0, page)
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
end

--- Show hits with a picker; its last item reads more.
local function pick(search, page)
  search.items = vim.list_extend(search.items or {}, hits.items(page))
  local items = vim.list_extend({}, search.items)
  if page.more then
    table.insert(items, { line = 'more hits' })
  end
  search.show {
    title = 'Hits',
    prompt = 'Go to: ',
    items = items,
    line = function(item)
      return item.line
    end,
    choose = function(item)
      if item.hit then
        return open(item.hit)
      end
      read(search, function(next)
        pick(search, next)
      end)
    end,
  }
end

--- Search all conversations, and show the hits.
--- @param query string as in docs/protocol.md
--- @param show function|nil a picker, as in reel.picker; nil: a buffer
function M.start(query, show)
  local search = { query = query, show = show }
  if newest and newest.reading then
    newest.stale = true
  end
  newest = search
  read(search, function(page)
    report(search, page)
    if #page.hits > 0 then
      (show and pick or list)(search, page)
    end
  end)
end

--- Show more hits in the buffer, if there are any.
function M.more()
  local search = shown
  if search.after and not search.reading then
    read(search, function(page)
      if vim.api.nvim_buf_is_loaded(search.buffer) then
        put(search, vim.api.nvim_buf_line_count(search.buffer) - 2, page)
      end
    end)
  end
end

--- Leave the window with the hits, for the window before it or for a new one.
local function leave()
  local list_window = vim.api.nvim_get_current_win()
  vim.cmd 'wincmd p'
  if vim.api.nvim_get_current_win() == list_window then
    vim.cmd 'aboveleft new'
  end
end

--- Open the hit on the cursor's line, in another window than that of the hits.
function M.open()
  local hit = shown.at[vim.api.nvim_win_get_cursor(0)[1]]
  if hit then
    leave()
    open(hit)
  elseif vim.api.nvim_get_current_line() == MORE then
    M.more()
  end
end

return M
