--- Errors as the daemon sends them, {code, name, message, data}, and the line that a user sees of one.

local M = {}

--- Return the line that a call raises: `name: what and where`.
function M.text(name, message)
  return ('%s: %s'):format(name, message)
end

--- Return an error of the plug-in's own.
function M.new(name, message)
  return { name = name, message = M.text(name, message), data = { name = name } }
end

--- Return what a user reads of an error: its message without the name, which is for programs.
function M.words(problem)
  if type(problem) ~= 'table' then
    return tostring(problem)
  end
  local prefix = M.text(problem.name, '')
  return vim.startswith(problem.message, prefix) and problem.message:sub(#prefix + 1) or problem.message
end

--- Return the error that there is no conversation of a name, with what creates it.
function M.unknown(name)
  return M.new('not_found', ('no conversation %s (:Reel new %s creates it)'):format(name, name))
end

--- Return the error that a short form stands for several conversations, some of which are given.
function M.ambiguous(typed, agents, more)
  local names = vim.tbl_map(function(agent)
    return agent.name
  end, agents)
  local listed = table.concat(names, ', ') .. (more and ', ...' or '')
  return M.new('not_found', ('no conversation %s, but several are meant by it: %s'):format(typed, listed))
end

--- Return the error of a call that names a conversation; if there is no such conversation, with what creates it.
function M.naming(problem, name)
  return problem.name == 'not_found' and M.unknown(name) or problem
end

--- Show an error; nil shows nothing.
function M.show(problem)
  if problem then
    vim.notify((M.words(problem):gsub('[\r\n]+', ' ')), vim.log.levels.ERROR)
  end
end

return M
