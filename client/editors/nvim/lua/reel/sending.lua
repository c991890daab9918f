--- Sends a message of the user: refuses what is too long, and says which message it is.

local calls = require 'reel.calls'
local errors = require 'reel.errors'
local link = require 'reel.link'

local M = {}

local ENVELOPE = 1000 -- bytes of a message that are not its text

--- Return the error for a text that is too long; nil if it may be sent.
local function too_large(text)
  local limit = link.server and link.server.limits.message
  if limit and #text > limit - ENVELOPE then
    local problem = 'the text has %d bytes; a message may have %d; send it in parts'
    return errors.new('too_large', problem:format(#text, limit))
  end
end

local function outcome(name, result)
  local count = result.replaced
  local replaced = count and ('; %d character%s replaced by U+FFFD'):format(count, count == 1 and '' or 's') or ''
  return ('%s: added #%d%s'):format(name, result.first, replaced)
end

--- Send a text to a conversation.
--- @param done function called with an error, or with nil and the line to show; nothing is sent if the text is blank
function M.send(conversation, text, done)
  if not text:find '%S' then
    return done(nil, 'nothing sent')
  end
  local problem = too_large(text)
  if problem then
    return done(problem)
  end
  local name = conversation.name
  calls.command('add', { agent = conversation.agent, messages = text }, function(failure, result)
    done(failure, result and outcome(name, result))
  end)
end

return M
