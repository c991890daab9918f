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

# The longest line in bytes of a buffer that is highlighted; of a longer one, Vim highlights only a part. The patterns of
# syntax files are not made for long lines: with JSON of 150 KB they fail (E363), and with JSON that was cut at 64 KB Vim
# stood still for more than 50 seconds of CPU time.
const LONGEST = 3'000
# A fence, and the word behind it.
const FENCE = '^\s*`\{3,}\s*\zs\w\+'

# Highlights the languages of fences that are new among some lines of a buffer.
export def Highlight(buffer: number, lines: list<string>)
  final known: dict<bool> = getbufvar(buffer, 'reel_languages')
  const window = win_findbuf(buffer)->get(0, -1)
  if getbufvar(buffer, '&syntax') != 'markdown' || window < 0 || known->has_key('')
    return
  endif
  if max(lines->mapnew((_, line) => strlen(line))) > LONGEST
    known[''] = true
    win_execute(window, 'call reel#fences#Simplify()')
    return
  endif
  var row = match(lines, FENCE)
  while row >= 0
    const word = matchstr(lines[row], FENCE)
    if SYNTAX->has_key(word) && !known->has_key(word)
      known[word] = true
      win_execute(window, $'call reel#fences#Include("{word}")')
    endif
    row = match(lines, FENCE, row + 1)
  endwhile
enddef

# Highlights nothing but headings in the current buffer.
export def Simplify()
  syntax clear
  syntax match reelHeading /^##\{1,2} .*/
  highlight default link reelHeading Title
enddef

# Highlights the fences of a language in the current buffer.
export def Include(word: string)
  unlet! b:current_syntax
  execute $'syntax include @reelFence_{word} syntax/{SYNTAX[word]}.vim'
  execute $'syntax region reelFence_{word} matchgroup=markdownCodeDelimiter start=/^\s*\z(`\{{3,}}\)\s*{word}\>.*$/'
    .. $' end=/^\s*\z1`*\s*$/ keepend contains=@reelFence_{word}'
  b:current_syntax = 'markdown'
enddef
