--- Reads the list of conversations from the daemon, and finds the one that a short form stands for.

local calls = require 'reel.calls'
local errors = require 'reel.errors'
local link = require 'reel.link'

local M = {}

local PAGE = 1000
local MOST_MEANT, SHOWN = 100, 6

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

--- Return the conversation that is meant, else nil and the error: killed ones count only if no live one is meant.
local function only(typed, found)
  local live = vim.tbl_filter(function(agent)
    return agent.alive
  end, found)
  local meant = #live > 0 and live or found
  if #meant == 1 then
    return meant[1]
  end
  if #meant == 0 then
    return nil, errors.unknown(typed)
  end
  return nil, errors.ambiguous(typed, vim.list_slice(meant, 1, SHOWN), #meant > SHOWN)
end

--- Find a conversation by its name, its id, or a short form; `done(problem, agent)` is called later.
function M.find(typed, done)
  calls.send('agent', { typed }, function(problem, agent)
    if not problem or problem.name ~= 'not_found' then
      return done(problem, agent)
    end
    if not link.server or not vim.tbl_contains(link.server.features, 'short_names') then
      return done(errors.unknown(typed))
    end
    calls.send('agents', { short = typed, limit = MOST_MEANT }, function(trouble, page)
      if trouble then
        return done(trouble)
      end
      local found, refused = only(typed, page.agents)
      done(refused, found)
    end)
  end)
end

return M
