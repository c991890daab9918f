--- Subscriptions that outlive the connection: each goes on after the last event that it gave.

local calls = require 'reel.calls'
local errors = require 'reel.errors'
local link = require 'reel.link'

local M = {}

local followings = {}

local function tell(following, name, push)
  local ok, problem = pcall(following.handler, name, push)
  if not ok then
    errors.show(problem)
  end
end

local begin

local function begun(following, reply)
  if not followings[following] then -- it was ended meanwhile
    return calls.send('unsubscribe', { reply.sub }, function() end)
  end
  following.params.agent = reply.agent -- whoever has its name when we come back
  local older = reply.head < following.heard -- a log never becomes shorter: this one is a backup
  if older or not following.params.since then
    following.params.since = reply.head
  end
  following.heard = math.min(following.params.since, reply.head)
  if older then -- it was asked to be silent until the log is as long as the other one was
    calls.send('unsubscribe', { reply.sub }, function() end)
    begin(following)
    return tell(following, 'reset', { agent = reply.agent, head = reply.head })
  end
  following.sub = reply.sub
  tell(following, 'begin', reply)
end

function begin(following)
  following.sub = nil
  calls.send('subscribe', following.params, function(problem, reply)
    if reply then
      begun(following, reply)
    elseif link.is_up() and problem.name ~= 'shutting_down' then -- refused; else it is asked again when it is back
      followings[following] = nil
      tell(following, 'error', problem)
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
      tell(following, 'lost', problem)
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
    tell(following, name, push)
  elseif name == 'lagged' then
    following.params.since = push.from - 1
    begin(following)
  elseif name == 'draft' or name == 'reset' then
    tell(following, name, push)
  end
end

local function concerns(following, push)
  if push.sub then
    return following.sub == push.sub
  end
  return following.sub and (not following.params.agent or following.params.agent == push.agent)
end

--- Hand a push to those whom it concerns.
local function route(name, push)
  for following in pairs(followings) do
    if concerns(following, push) then
      hear(following, name, push)
    end
  end
end

calls.on_push = route

--- Follow one agent or all of them; see reel.subscribe.
function M.open(options, handler)
  local params = { agent = options.agent, since = options.since, view = options.view, kinds = options.kinds }
  local following = { params = params, handler = handler, sub = nil, heard = 0 }
  followings[following] = true
  if link.is_up() then
    begin(following)
  else -- to be up begins it
    link.connect(function(problem)
      if problem then
        tell(following, 'lost', problem)
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
