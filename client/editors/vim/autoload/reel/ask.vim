vim9script

# Runs the user's own command, which lets a model answer: the plug-in calls no provider.

import autoload './program.vim'
import autoload './socket.vim'
import autoload './words.vim'

# The jobs that run, by the agent's id.
final jobs: dict<job> = {}

# Throws why the command cannot be run for a conversation now, if it cannot.
export def Check(conversation: dict<any>)
  if IsRunning(conversation)
    throw $'reel: busy: {conversation.name}: the command is still running (:Reel stop ends it)'
  endif
enddef

# Runs the command for a conversation: $REEL_AGENT is the conversation, $REEL_SOCKET the daemon's socket.
export def Start(conversation: dict<any>)
  Check(conversation)
  final errors: list<string> = []
  const given = get(g:, 'reel_ask', [program.Name(), 'ask'])
  const command = type(given) == v:t_list ? given : [&shell, &shellcmdflag, given]
  jobs[conversation.agent] = job_start(command, {
    env: {REEL_AGENT: conversation.name, REEL_SOCKET: socket.Path(), PYTHONPATH: program.PythonPath()},
    in_io: 'null',
    out_io: 'null',
    err_cb: (_, line) => {
      errors->add(line)
    },
    exit_cb: (_, status) => Exited(conversation, status, errors),
  })
enddef

def Exited(conversation: dict<any>, status: number, errors: list<string>)
  const stopped = !jobs->has_key(conversation.agent)
  if !stopped
    jobs->remove(conversation.agent)
    redrawstatus!
  endif
  if status != 0 && !stopped
    # Later: what the command printed may come after its exit.
    timer_start(100, (_) => {
      words.Complain($'reel: ask: {conversation.name}: {errors->get(-1, $'the command ended with status {status}')}')
    })
  endif
enddef

# Stops the command of a conversation.
export def Stop(conversation: dict<any>): string
  if !IsRunning(conversation)
    throw $'reel: usage: {conversation.name}: no command is running'
  endif
  job_stop(jobs->remove(conversation.agent))
  return ''
enddef

# Returns whether the command of a conversation is running.
export def IsRunning(conversation: dict<any>): bool
  return jobs->has_key(conversation.agent)
enddef
