vim9script

# Highlights the code in the fences of a conversation, each language when it first appears.
#
# The language is other people's text. So only the languages in this table are highlighted: nothing else of a fence
# reaches a command.

# The syntax file of each language, by the words that fences use.
const SYNTAX = {
  bash: 'sh', c: 'c', cpp: 'cpp', css: 'css', diff: 'diff', go: 'go', html: 'html', java: 'java',
  javascript: 'javascript', js: 'javascript', json: 'json', lua: 'lua', py: 'python', python: 'python', ruby: 'ruby',
  rust: 'rust', sh: 'sh', sql: 'sql', toml: 'toml', ts: 'typescript', typescript: 'typescript', vim: 'vim',
  yaml: 'yaml',
}

# Highlights the languages of fences that are new among some lines of a buffer.
export def Highlight(buffer: number, lines: list<string>)
  if getbufvar(buffer, '&syntax') != 'markdown'
    return
  endif
  final known: dict<bool> = getbufvar(buffer, 'reel_languages')
  for line in lines
    const word = matchstr(line, '^\s*`\{3,}\s*\zs\w\+')
    if SYNTAX->has_key(word) && !known->has_key(word) && !empty(win_findbuf(buffer))
      known[word] = true
      win_execute(win_findbuf(buffer)[0], $'call reel#fences#Include("{word}")')
    endif
  endfor
enddef

# Highlights the fences of a language in the current buffer.
export def Include(word: string)
  unlet! b:current_syntax
  execute $'syntax include @reelFence_{word} syntax/{SYNTAX[word]}.vim'
  execute $'syntax region reelFence_{word} matchgroup=markdownCodeDelimiter start=/^\s*\z(`\{{3,}}\)\s*{word}\>.*$/'
    .. $' end=/^\s*\z1`*\s*$/ keepend contains=@reelFence_{word}'
  b:current_syntax = 'markdown'
enddef
