--- Subscriptions that outlive the connection: each continues after the last event that it delivered; one to lines begins
--- again.

local calls = require 'reel.calls'
local errors = require 'reel.errors'
local link = require 'reel.link'

local M = {}

local followings = {}

local function deliver(following, name, push)
  local ok, problem = pcall(following.handler, name, push)
  if not ok then
    errors.show(problem)
  end
end

local begin

--- Return whether a log is older than what was heard of it: it never becomes shorter, so a backup has replaced it.
local function is_older(following, head)
  local older = head < following.heard
  if older or not following.params.since then
    following.params.since = head
  end
  following.heard = math.min(following.params.since, head)
  return older
end

local function begun(following, reply)
  if not followings[following] then -- it was ended meanwhile
    return calls.send('unsubscribe', { reply.sub }, function() end)
  end
  following.params.agent = reply.agent -- its id: another conversation may have the name when we reconnect
  if not following.is_lines and is_older(following, reply.head) then
    -- This subscription pushes nothing until the log is as long as the old one was.
    calls.send('unsubscribe', { reply.sub }, function() end)
    begin(following)
    return deliver(following, 'reset', { agent = reply.agent, head = reply.head })
  end
  following.sub = reply.sub
  deliver(following, 'begin', reply)
end

local function refuse(following, problem)
  followings[following] = nil
  deliver(following, 'error', problem)
end

function begin(following)
  following.sub = nil
  if following.is_lines and not vim.tbl_contains(link.server.features, 'facts') then
    return refuse(following, errors.new('outdated', 'this reeld cannot show lines; restart the daemon: reel stop; reel start'))
  end
  calls.send('subscribe', following.params, function(problem, reply)
    if reply then
      begun(following, reply)
    elseif link.is_up() and problem.name ~= 'shutting_down' then -- refused; otherwise `up` subscribes again
      refuse(following, problem)
    end
  end)
end

link.listen {
  up = function()
    for following in pairs(followings) do
      begin(following)
    end
  end,
  down = function(problem)
    for following in pairs(followings) do
      following.sub = nil
      deliver(following, 'lost', problem)
    end
  end,
  needed = function()
    return next(followings) ~= nil
  end,
}

local function hear(following, name, push)
  if name == 'event' then
    following.heard = following.params.agent and push.seq or push.id
    following.params.since = following.heard
    deliver(following, name, push)
  elseif name == 'lagged' then
    following.params.since = not following.is_lines and push.from - 1 or nil
    begin(following)
  elseif name == 'lines' or name == 'draft' or name == 'reset' then
    deliver(following, name, push)
  end
end

local function concerns(following, push)
  if push.sub then
    return following.sub == push.sub
  end
  return following.sub and not following.is_lines and (not following.params.agent or following.params.agent == push.agent)
end

--- Pass a push to the subscriptions that it is for.
local function route(name, push)
  for following in pairs(followings) do
    if concerns(following, push) then
      hear(following, name, push)
    end
  end
end

calls.on_push = route

--- Follow one conversation, or all; see reel.subscribe.
function M.open(options, handler)
  local params = vim.tbl_extend('force', options, {}) -- it changes
  local following = { params = params, handler = handler, sub = nil, heard = 0, is_lines = options.view == 'lines' }
  followings[following] = true
  if link.is_up() then
    begin(following)
  else -- `up` subscribes
    link.connect(function(problem)
      if problem then
        deliver(following, 'lost', problem)
      end
    end)
  end
  return function()
    followings[following] = nil
    if following.sub and link.is_up() then
      calls.send('unsubscribe', { following.sub }, function() end)
    end
  end
end

return M
