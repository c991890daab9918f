--- The open conversations: each has a buffer, and a subscription whose patches keep the buffer current.

local buffer = require 'reel.buffer'
local compose = require 'reel.compose'
local errors = require 'reel.errors'
local following = require 'reel.following'
local hits = require 'reel.hits'
local notices = require 'reel.notices'

local M = {}

local open, newest = {}, nil

--- Show the conversation's problem below its lines, or that they are those of an earlier state.
local function set_problem(conversation, problem)
  local past = '%s as it was at #%d (:Reel open %s shows it as it is now)'
  local name = conversation.name
  conversation.away = problem
  buffer.notice(conversation.buffer, problem or conversation.past and past:format(name, conversation.past, name))
end

--- Go to the hit that the conversation was opened for, once everything has been read.
local function arrive(conversation)
  local hit = conversation.target
  local first, last, is_there = buffer.section(conversation.buffer, hit.role ~= 'system' and hit.seq or nil)
  conversation.target = nil
  if not is_there and hit.role and hit.role ~= 'system' then
    notices.say(('%s: #%d is not in the conversation any more; search again to see it'):format(conversation.name, hit.seq))
  end
  buffer.go(conversation.buffer, first, last, hits.contexts(hit))
end

local hear = {}

--- Take the beginning of a subscription: its first patch is for an empty buffer. The old lines stay until then, so that
--- nobody loses the place when the daemon comes back.
function hear.begin(conversation, reply)
  conversation.agent, conversation.reading, conversation.is_new = reply.agent, true, true
  set_problem(conversation, nil)
end

function hear.lines(conversation, patch)
  if conversation.is_new then
    conversation.is_new, conversation.views = false, buffer.views(conversation.buffer)
    patch.replace = { 0, buffer.rows(conversation.buffer) }
  end
  conversation.reading = patch.more
  buffer.apply(conversation.buffer, patch)
  if patch.name ~= conversation.name then
    conversation.name = patch.name
    set_problem(conversation, conversation.away)
  end
  if patch.more then
    return
  end
  buffer.return_to(conversation.views)
  conversation.views = {}
  if conversation.target then
    arrive(conversation)
  end
end

function hear.reset(conversation)
  set_problem(conversation, 'the conversation is gone')
end

function hear.lost(conversation, problem)
  set_problem(conversation, errors.words(problem))
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

--- Show a conversation in a buffer, and keep it current.
--- @param path string its name; with `#SEQ` behind it, the conversation as it was at this seq
function M.attach(number, path)
  if open[number] then
    close(open[number])
  end
  local name, past = path:match '^(.+)#(%d+)$'
  name, past = name or path, tonumber(past)
  local conversation = { buffer = number, name = name, agent = name, asked = name, past = past, reading = true }
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
  conversation.stop = following.open({ agent = name, view = 'lines', at = past }, function(what, push)
    if hear[what] then
      hear[what](conversation, push)
    end
  end)
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
    if not newest.reading then
      arrive(newest)
    end
  end
end

return M
