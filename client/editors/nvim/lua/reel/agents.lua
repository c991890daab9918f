--- Reads the list of conversations from the daemon.

local calls = require 'reel.calls'

local M = {}

local PAGE = 1000

--- Read the live conversations, the last changed first, each once.
--- @param options table {prefix = only names that begin with it, nil for all}
--- @param done function called with an error, or with nil and the list
function M.read(options, done)
  local found, seen = {}, {}
  local function page(after)
    local params =
      { prefix = options.prefix, alive = true, order = 'updated', details = true, limit = PAGE, after = after }
    calls.send('agents', params, function(problem, reply)
      if problem then
        return done(problem)
      end
      for _, agent in ipairs(reply.agents) do
        if not seen[agent.id] then -- one that changes while the list is read comes twice
          seen[agent.id] = true
          table.insert(found, agent)
        end
      end
      if reply.more then
        return page(reply.agents[#reply.agents].id)
      end
      done(nil, found)
    end)
  end
  page(nil)
end

return M
