--- The open conversations: each has a buffer, a copy of the messages, and a subscription that keeps the copy current.

local buffer = require 'reel.buffer'
local calls = require 'reel.calls'
local compose = require 'reel.compose'
local copies = require 'reel.copy'
local errors = require 'reel.errors'
local following = require 'reel.following'
local hits = require 'reel.hits'
local notices = require 'reel.notices'
local view = require 'reel.view'

local M = {}

local open, newest = {}, nil

local GRACE_MS = 1000 -- for how long a draft that has ended is shown
local NOTHING = { lines = {}, levels = {}, marks = {} }

--- Return the sections after the first `unchanged` messages; -1 includes the system prompt. The prompt is section 1
--- (empty if there is none), message n is section n + 1; then the drafts, then the problem.
local function sections(conversation, unchanged)
  local copy, made = conversation.copy, {}
  if unchanged < 0 then
    table.insert(made, copy.system and view.system(copy.system) or NOTHING)
  end
  for index = math.max(unchanged, 0) + 1, #copy.messages do
    table.insert(made, view.message(copy.messages[index], conversation.tools, view.clock))
  end
  local writers = vim.tbl_keys(conversation.drafts)
  table.sort(writers)
  for _, connection in ipairs(writers) do
    local draft = conversation.drafts[connection]
    table.insert(made, view.draft(draft.client, draft.text))
  end
  if conversation.past then
    table.insert(made, view.past(conversation.name, conversation.past))
  end
  if conversation.away then
    table.insert(made, view.notice(conversation.away))
  end
  return made
end

--- Return the rows where the section of a hit begins and ends; also the row of the message before, if it is not there.
local function place(conversation, hit)
  local index = 0
  if hit.role ~= 'system' then
    for number, message in ipairs(conversation.copy.messages) do
      index = message.seq <= hit.seq and number or index
    end
    local message = conversation.copy.messages[index]
    if hit.role and not (message and message.seq == hit.seq) then
      notices.say(('%s: #%d is not in the conversation any more; search again to see it'):format(conversation.name, hit.seq))
    end
  end
  return conversation.rows[index + 1] or 0, conversation.rows[index + 2] or 0
end

--- Go to the hit that the conversation was opened for, once everything has been read and painted.
local function arrive(conversation)
  local hit = conversation.target
  if not hit or conversation.copy.reading or conversation.unchanged then
    return
  end
  conversation.target = nil
  local first, last = place(conversation, hit)
  buffer.go(conversation.buffer, first, last, hits.contexts(hit))
end

local function paint(conversation)
  local unchanged = conversation.unchanged
  conversation.unchanged = nil
  if not (unchanged and open[conversation.buffer] == conversation) then
    return
  end
  local rows = conversation.rows
  local first = unchanged + 2 -- the section to begin with
  local painted = buffer.paint(conversation.buffer, rows[first] or 0, sections(conversation, unchanged))
  for index, row in ipairs(painted) do
    rows[first + index - 1] = row
  end
  arrive(conversation)
end

--- Schedule a repaint of everything after the first `unchanged` messages; -1 includes the system prompt. Changes that
--- come together are painted once.
local function changed(conversation, unchanged)
  if not conversation.unchanged then
    vim.schedule(function()
      paint(conversation)
    end)
  end
  conversation.unchanged = math.min(conversation.unchanged or math.huge, unchanged)
end

--- Schedule a repaint of what comes after the messages.
local function changed_at_the_end(conversation)
  changed(conversation, #conversation.copy.messages)
end

local function read(conversation)
  local copy = conversation.copy
  calls.send('messages', copies.request(copy, conversation.agent), function(problem, page)
    conversation.stuck = problem ~= nil -- the next push continues the reading
    if problem then
      conversation.away = errors.words(errors.naming(problem, conversation.name))
      return changed_at_the_end(conversation)
    end
    conversation.agent = page.agent
    local prompt = copy.system
    local unchanged = copies.page(copy, page)
    changed(conversation, copy.system == prompt and unchanged or -1)
    if copy.reading then
      read(conversation)
    end
  end)
end

local hear = {}

function hear.begin(conversation, reply)
  conversation.drafts, conversation.away = {}, nil
  if not conversation.begun then
    conversation.begun = true
    conversation.agent, conversation.copy = reply.agent, copies.new(reply.head)
    read(conversation)
  elseif conversation.stuck then
    read(conversation)
  end
  changed_at_the_end(conversation)
end

function hear.event(conversation, push)
  conversation.name = push.name
  local unchanged, begin = copies.event(conversation.copy, push)
  changed(conversation, unchanged)
  if begin or conversation.stuck then
    conversation.away = nil
    read(conversation)
  end
end

--- Take a draft. The end of one is shown with its message, which comes a moment later: who reads the draft must not lose
--- the place.
function hear.draft(conversation, push)
  conversation.drafts[push.connection] = push.text ~= '' and push or nil
  if push.text ~= '' then
    return changed_at_the_end(conversation)
  end
  vim.defer_fn(function()
    changed_at_the_end(conversation)
  end, GRACE_MS)
end

function hear.reset(conversation, push)
  changed(conversation, -1)
  if copies.reset(conversation.copy, push.head) then
    read(conversation)
  end
end

function hear.lost(conversation, problem)
  conversation.drafts, conversation.away = {}, errors.words(problem)
  changed_at_the_end(conversation)
end

function hear.error(conversation, problem)
  hear.lost(conversation, errors.naming(problem, conversation.name))
end

local function close(conversation)
  conversation.stop()
  open[conversation.buffer] = nil
  buffer.forget(conversation.buffer)
  if newest == conversation then
    newest = nil
  end
end

--- Start to read a conversation and to follow it; one of the past is only read.
local function begin(conversation)
  if conversation.past then
    conversation.copy, conversation.stop = copies.new(conversation.past), function() end
    return read(conversation)
  end
  conversation.stop = following.open({ agent = conversation.name }, function(what, push)
    hear[what](conversation, push)
  end)
end

--- Show a conversation in a buffer, and keep it current.
--- @param path string its name; with `#SEQ` behind it, the conversation as it was at this seq, which never changes
function M.attach(number, path)
  if open[number] then
    close(open[number])
  end
  local name, past = path:match '^(.+)#(%d+)$'
  name = name or path
  local conversation = { buffer = number, name = name, agent = name, asked = name, past = tonumber(past) }
  conversation.copy, conversation.tools, conversation.drafts, conversation.rows = copies.new(0), {}, {}, {}
  open[number], newest = conversation, conversation
  buffer.prepare(number)
  vim.api.nvim_create_autocmd('BufUnload', {
    buffer = number,
    once = true,
    callback = function()
      if open[number] then
        close(open[number])
      end
    end,
  })
  begin(conversation)
end

--- Return the conversation of a buffer, also of one that composes a message to it; nil if it has none.
function M.of(buffer)
  local composed = compose.conversation(buffer)
  if not composed or open[composed.buffer] == composed then
    return composed or open[buffer]
  end
  for _, conversation in pairs(open) do -- its buffer was closed, but it may have another one now
    if conversation.agent == composed.agent and not conversation.past then
      return conversation
    end
  end
  return composed
end

--- Return the conversation of the current buffer, else the one that was opened last. Raises if there is none.
function M.current()
  local found = M.of(vim.api.nvim_get_current_buf()) or newest
  if not found then
    error(errors.new('not_found', 'no conversation is open (:Reel open NAME opens one)'), 0)
  end
  return found
end

--- Have a buffer show an agent if it shows another one, which had the name before.
local function correct(number, path, agent)
  local shown = open[number]
  if not shown then
    return
  end
  if shown.agent ~= agent and shown.agent ~= shown.asked then -- as long as it is the name, the daemon has not replied
    M.attach(number, path)
  end
  open[number].agent = agent
end

--- Show a conversation in the current window.
--- @param path string as in `attach`
--- @param agent string its id
--- @param hit table|nil a hit of a search, to go to its message
function M.show(path, agent, hit)
  local ok, problem = pcall(vim.cmd, 'edit ' .. vim.fn.fnameescape('reel://' .. path))
  if not ok then
    return errors.show(problem)
  end
  correct(vim.api.nvim_get_current_buf(), path, agent)
  newest = open[vim.api.nvim_get_current_buf()] or newest -- :edit does not attach a buffer that is already loaded
  if newest and hit then
    newest.target = hit
    arrive(newest)
  end
end

return M
