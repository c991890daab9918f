--- The hits of a search, as the daemon lays them out: texts and colours of their lines, and what to look for. Pure.

local M = {}

-- The colours of spans, by what they are.
local COLOURS = {
  system = 'ReelSystem',
  user = 'ReelUser',
  assistant = 'ReelAssistant',
  tool = 'ReelTool',
  name = 'ReelName',
  match = 'ReelMatch',
  note = 'ReelNote',
}

--- Return the text of a line, and its colours as a list of {first, last, colour}, in bytes from 0.
function M.drawn(line)
  local text, colours = '', {}
  for _, span in ipairs(line.spans) do
    local first = #text
    text = text .. span[1]
    if COLOURS[span[2]] then
      table.insert(colours, { first = first, last = #text, colour = COLOURS[span[2]] })
    end
  end
  return text, colours
end

--- Return the hits of a page for a picker, each as {hit, line}: its name, its heading and its text in one line.
function M.items(page)
  local items = {}
  for index, hit in ipairs(page.hits) do
    items[index] = { hit = hit, line = hit.name:gsub('%s', ' ') }
  end
  for _, line in ipairs(page.lines) do
    local item, text = line.hit and items[line.hit + 1], M.drawn(line)
    if item and vim.startswith(text, '  ') then -- not the name of the conversation
      item.line = item.line .. text:sub(2):gsub('^%s%s+', '  ')
    end
  end
  return items
end

--- Return what to look for in the message of a hit: the line around the first match, and the match alone, as a list of
--- {text, offset = of the match in it}.
function M.contexts(hit)
  local context = hit.context
  return context and { { text = table.concat(context), offset = #context[1] }, { text = context[2], offset = 0 } } or {}
end

return M
