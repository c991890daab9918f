;;; reel-link.el --- The connection to reeld  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One connection to the daemon, over the built-in jsonrpc.el.
;;
;; Theory of operation: nothing is handled in a process filter or sentinel.
;; Everything that arrives (a push, a reply, the end of the connection) goes
;; into one queue, in order, and one timer empties it.  Only commands wait for
;; a reply (`reel-link-call'); the timer never does.
;;
;; `jsonrpc-request' is not used: up to Emacs 29 it leaves the process filter
;; as soon as it has its reply, and what arrived after that is not handled
;; until more arrives.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'subr-x)
(require 'reel-text)

(defgroup reel nil
  "Conversations of LLM agents, owned by a daemon."
  :group 'tools
  :prefix "reel-")

(defcustom reel-program "reel"
  "The command that starts the daemon."
  :type 'string)

(defcustom reel-timeout 30
  "How many seconds a command waits for the daemon: to reply, or to come back."
  :type 'number)

(defvar reel-link-push-function #'ignore
  "Function that is called with each push: its name, a symbol, and a plist.")

(defvar reel-link-open-hook nil
  "Hook that is run when the daemon has answered the greeting.")

(defvar reel-link-lost-hook nil
  "Hook that is run when the connection was lost.")

(defvar reel-link--connection nil
  "The connection, or nil.")

(defvar reel-link--count 0
  "How many connections there were; it is part of the names of their buffers.")

(defvar reel-link--features nil
  "What the daemon that answered the last greeting can do.")

(defvar reel-link--greeted nil
  "The connection whose greeting was answered last, or nil.")

(defvar reel-link--trouble nil
  "Why the daemon refused the greeting, or nil.")

(defconst reel-link--commands '(create add clear clone mark rewind undo redo change)
  "The methods that write; they are sent with a key.")

;;;; The queue

(defvar reel-link--queue nil
  "The calls that wait, oldest first, each a function and its arguments.")

(defvar reel-link--timer nil
  "The timer that empties the queue, or nil if the queue is empty.")

(defvar reel-link--sending nil
  "Non-nil while a request is being written.")

(defun reel-link-defer (&rest call)
  "Put CALL, a function and its arguments, into the queue."
  (setq reel-link--queue (nconc reel-link--queue (list call)))
  (unless reel-link--timer
    (reel-link--arm 0)))

(defun reel-link--arm (seconds)
  "Empty the queue in SECONDS."
  (setq reel-link--timer (run-at-time seconds nil #'reel-link--drain)))

(defun reel-link--drain ()
  "Empty the queue, but pause as soon as the user types."
  ;; Emacs runs timers while it waits to write.  A second request, written
  ;; inside the first, could be answered before jsonrpc.el knows the first.
  (if reel-link--sending
      (reel-link--arm 0.02)
    (unwind-protect
        (while (progn (with-demoted-errors "reel: %S" (apply #'funcall (pop reel-link--queue)))
                      (and reel-link--queue (not (input-pending-p)))))
      (setq reel-link--timer nil)
      (when reel-link--queue
        (reel-link--arm 0.01)))))

;;;; The address

(defun reel-link-address ()
  "Return the path of the daemon's socket."
  (let ((socket (getenv "REEL_SOCKET"))
        (runtime (getenv "XDG_RUNTIME_DIR")))
    (cond ((not (member socket '(nil ""))) socket)
          ((reel-link--configured))
          ((not (member runtime '(nil ""))) (concat runtime "/reel/reel.sock"))
          (t (concat (reel-link--fallback) "/reel.sock")))))

(defvar reel-link--configured nil
  "A list with the path that `reel socket' printed; `none' if it failed.")

(defun reel-link--configured ()
  "Return the path printed by \"reel socket\", which is called only once.
Return nil if there is no reeld.toml that could set one."
  (let ((home (getenv "XDG_CONFIG_HOME")))
    (when (and (null reel-link--configured)
               (file-exists-p (expand-file-name
                               "reel/reeld.toml"
                               (if (member home '(nil "")) "~/.config" home))))
      (setq reel-link--configured
            (with-temp-buffer
              (if (eq 0 (ignore-errors (reel-link--run "socket")))
                  (list (string-trim (buffer-string)))
                'none))))
    (car-safe reel-link--configured)))

(defun reel-link--fallback ()
  "Return the directory of the socket if there is no runtime directory."
  (format "/tmp/reel-%d" (user-uid)))

(defun reel-link--foreign (path)
  "Return why it is not safe to connect to the socket at PATH, or nil.
Conversations are private: the socket must be the user's own, or root's, and so
must its directory in /tmp, where anybody may write."
  (let* ((directory (directory-file-name (file-name-directory path)))
         (above (file-attributes directory 'integer))
         (socket (file-attributes (file-truename path) 'integer)))
    (cond ((null socket) nil)
          ((and (equal directory (reel-link--fallback))
                (not (and (eq (file-attribute-type above) t)
                          (eq (file-attribute-user-id above) (user-uid)))))
           (format "%s is not your own directory" directory))
          ((not (memq (file-attribute-user-id socket) (list (user-uid) 0)))
           (format "%s belongs to another user (uid %d)"
                   path (file-attribute-user-id socket))))))

;;;; The connection

(defun reel-link-up-p ()
  "Return whether there is a connection."
  (and reel-link--connection (jsonrpc-running-p reel-link--connection)))

(defun reel-link-number ()
  "Return the number of the connection, which is unique; 0 before the first."
  reel-link--count)

(defun reel-link-connect (&optional start)
  "Open a connection unless there is one.
With START, start the daemon if it is not running.  Signal a `user-error' if the
daemon cannot be reached."
  (unless (reel-link-up-p)
    (let ((path (reel-link-address)))
      (condition-case nil
          (reel-link--open path)
        (file-error
         (when start
           (reel-link--start path))
         (condition-case error
             (reel-link--open path)
           (file-error
            (user-error "No daemon answers on %s (%s)" path
                        (downcase (or (cl-find-if #'stringp (cddr error)) "cannot be opened"))))))))))

(defun reel-link--open (path)
  "Connect to PATH and send the greeting."
  (when-let* ((trouble (reel-link--foreign path)))
    (user-error "%s; nothing was sent to it" trouble))
  (let ((connection (reel-link--dial path)))
    (setq reel-link--connection connection
          reel-link--trouble nil)
    (ignore-errors ; if it ends meanwhile, `reel-link--down' is called
      (reel-link--send 'hello
                       (list :client (list :name "emacs" :version emacs-version)
                             :protocol '(:min 1 :max 1))
                       (apply-partially #'reel-link--greet connection)
                       (apply-partially #'reel-link--refuse connection)))))

(defun reel-link--dial (path)
  "Return a new connection to PATH."
  (let* ((name (format "reel-%d" (cl-incf reel-link--count)))
         (process (make-network-process :name name :family 'local :service path
                                        :coding 'utf-8-emacs-unix :noquery t))
         (connection (apply #'make-instance 'jsonrpc-process-connection
                            :name name :process process
                            :notification-dispatcher #'reel-link--hear
                            :on-shutdown #'reel-link--down
                            (reel-link--without-log))))
    (add-function :around (process-sentinel process) #'reel-link--quietly)
    connection))

(defun reel-link--without-log ()
  "Return the arguments that keep jsonrpc.el from logging all messages."
  (if (fboundp 'jsonrpc--events-buffer-scrollback-size) ; up to Emacs 29
      '(:events-buffer-scrollback-size 0)
    '(:events-buffer-config (:size 0))))

(defun reel-link--quietly (sentinel &rest arguments)
  "Call SENTINEL with ARGUMENTS, and keep its messages out of the echo area."
  (let ((inhibit-message t))
    (apply sentinel arguments)))

(defun reel-link--greet (connection reply)
  "Take the REPLY to the greeting on CONNECTION."
  (setq reel-link--greeted connection
        reel-link--features (append (plist-get reply :features) nil))
  (reel-link-defer #'run-hooks 'reel-link-open-hook))

(defun reel-link--refuse (connection error)
  "Close CONNECTION, because the reply to the greeting is ERROR.
The daemon has another version of the protocol."
  (unless (reel-link--lost-p error)
    (setq reel-link--trouble (reel-link-words error))
    (delete-process (jsonrpc--process connection))))

(defun reel-link-greet ()
  "Open a connection unless there is one, so that `reel-link-knows-p' can tell.
Signal a `user-error' if the daemon cannot be reached."
  (reel-link-connect t)
  (reel-link--until-greeted))

(defun reel-link-knows-p (feature)
  "Return whether the daemon has FEATURE."
  (member feature reel-link--features))

(defun reel-link--hear (_connection method params)
  "Take the push METHOD with its PARAMS."
  (reel-link-defer reel-link-push-function method params))

(defun reel-link--down (connection)
  "Remove the buffers of CONNECTION, and run `reel-link-lost-hook'."
  (mapc (lambda (buffer) (when (buffer-live-p buffer) (kill-buffer buffer)))
        (list (process-buffer (jsonrpc--process connection))
              (jsonrpc-stderr-buffer connection)
              (jsonrpc-events-buffer connection)))
  (when (eq connection reel-link--connection)
    (setq reel-link--connection nil)
    (reel-link-defer #'run-hooks 'reel-link-lost-hook)))

(defun reel-link--start (path)
  "Start the daemon on PATH, unless it was stopped with \"reel stop\"."
  (message "Starting the daemon...")
  (with-temp-buffer
    (let ((status (condition-case nil
                      (reel-link--run "start" "--unless-stopped")
                    (file-error
                     (user-error "No daemon answers on %s, and there is no command %s to start one; set `reel-program'"
                                 path reel-program)))))
      (unless (eq status 0)
        (user-error "No daemon answers on %s: %s" path
                    (reel-link--last-line (buffer-string) status))))))

(defun reel-link--run (&rest words)
  "Run `reel-program' with WORDS; return its exit status.
Its output goes into the current buffer."
  (let ((default-directory "/") ; the current one may be on another machine
        (process-environment (cons (concat "PYTHONPATH=" (reel-link-python-path))
                                   process-environment)))
    (apply #'call-process reel-program nil t nil words)))

(defun reel-link-python-path ()
  "Return the entries of $PYTHONPATH that are absolute.
The others would let the command run modules of the current directory."
  (string-join (cl-remove-if-not (lambda (entry) (string-prefix-p "/" entry))
                                 (split-string (or (getenv "PYTHONPATH") "") ":"))
               ":"))

(defun reel-link--last-line (output status)
  "Return the last line of the command's OUTPUT, without the error's name.
If there is no output, return that the command ended with STATUS."
  (replace-regexp-in-string
   "\\`reel: \\([a-z_]+: \\)?" ""
   (or (car (last (split-string output "\n" t)))
       (format "%s start ended with status %s" reel-program status))
   t t))

;;;; Calls

(defun reel-link-name (error)
  "Return the name of ERROR, which is for programs."
  (plist-get (plist-get error :data) :name))

(defun reel-link-words (error)
  "Return the text of ERROR for a user: its message, on one line, without its name."
  (reel-text-one-line
   (string-remove-prefix (format "%s: " (reel-link-name error))
                         (plist-get error :message))))

(defun reel-link-ask (method params function)
  "Call METHOD of the daemon with PARAMS, a plist, without waiting.
FUNCTION is called from the queue with an error's text or nil, and the result.
If the connection is lost, `reel-link-lost-hook' is run instead."
  (condition-case nil
      (reel-link--send method params
                       (lambda (result) (reel-link-defer function nil result))
                       (lambda (error)
                         (unless (reel-link--lost-p error)
                           (reel-link-defer function (reel-link-words error) nil))))
    (error (reel-link-defer #'run-hooks 'reel-link-lost-hook))))

(defun reel-link-call (method &rest params)
  "Call METHOD of the daemon with PARAMS, a plist; return its result, a plist.
Signal an error of the daemon as a `user-error'."
  (pcase (apply #'reel-link-try method params)
    (`(result ,result) result)
    (`(error ,error) (user-error "%s" (reel-link-words error)))))

(defun reel-link-try (method &rest params)
  "Call METHOD of the daemon with PARAMS, a plist.
Return (result RESULT), or (error ERROR) with the daemon's error.
Open a connection if there is none.  A command that was lost with its connection
is sent once more, when the daemon is back; it has a key, so it is applied once.
Signal a `user-error' if the daemon cannot be reached."
  (reel-link-connect t)
  (let ((keyed (memq method reel-link--commands)))
    (when keyed
      (setq params (plist-put params :key (reel-link--key))))
    (or (reel-link--exchange method params)
        (and keyed
             (reel-link--back-p)
             (reel-link--exchange method params))
        (user-error "%s" (format "the daemon went away before it answered %s%s" method
                                 (if keyed "; check whether it was applied" ""))))))

(defun reel-link--back-p ()
  "Wait until the daemon is back, without starting it; return whether it is."
  (let ((until (+ (float-time) reel-timeout))
        (pause 0.1))
    (while (and (not (reel-link-up-p)) (< (float-time) until))
      (accept-process-output nil pause)
      (ignore-errors (reel-link-connect))
      (setq pause (min 2 (* 2 pause))))
    (reel-link-up-p)))

(defun reel-link-send (agent name text)
  "Send TEXT to AGENT, named NAME; return the line to show.
Nothing is sent if TEXT is blank."
  (if (string-blank-p text)
      "nothing sent"
    (pcase-let* ((`(,plain . ,count) (reel-text-plain text))
                 (reply (reel-link-call 'add :agent agent :messages plain))
                 (replaced (+ count (or (plist-get reply :replaced) 0))))
      (format "%s: added #%d%s" name (plist-get reply :first)
              (if (= replaced 0)
                  ""
                (format "; %s replaced by U+FFFD" (reel-text-count replaced "character")))))))

(defun reel-link--exchange (method params)
  "Send METHOD with PARAMS after the greeting, and wait for the reply.
Return (result RESULT) or (error ERROR), or nil when the connection was lost."
  (let ((answer 'waiting))
    (reel-link--until-greeted)
    (condition-case nil
        (reel-link--send method params
                         (lambda (result) (setq answer (list 'result result)))
                         (lambda (error)
                           (setq answer (unless (reel-link--lost-p error) (list 'error error)))))
      ((json-error wrong-type-argument) (user-error "The text to send has invalid characters"))
      (error (setq answer nil)))
    (reel-link--wait method (lambda () (not (eq answer 'waiting))))
    answer))

(defun reel-link--until-greeted ()
  "Wait for the reply to the greeting, or until the connection is lost.
Signal a `user-error' if the daemon refuses it."
  (reel-link--wait 'hello (lambda () (or (eq reel-link--greeted reel-link--connection)
                                         (not (reel-link-up-p)))))
  (when reel-link--trouble
    (user-error "%s" reel-link--trouble)))

(defun reel-link--wait (method done)
  "Wait until METHOD was answered: until the function DONE is true."
  (let ((until (+ (float-time) reel-timeout)))
    (while (not (funcall done))
      (when (> (float-time) until)
        (user-error "No answer to %s from %s within %s seconds" method (reel-link-address) reel-timeout))
      (accept-process-output nil 0.02))))

(defun reel-link--send (method params success failure)
  "Send METHOD with PARAMS.
SUCCESS is called with the result, or FAILURE with the error, from a process
filter."
  (let ((reel-link--sending t))
    (jsonrpc-async-request reel-link--connection method params :timeout nil
                           :success-fn success :error-fn failure)))

(defun reel-link--lost-p (error)
  "Return whether ERROR is jsonrpc.el's own, for a connection that was lost."
  (eql (plist-get error :code) -1))

(defun reel-link--key ()
  "Return a key that no other command has."
  (secure-hash 'sha256 (format "%s %s %s %s" (system-name) (emacs-pid)
                               (format-time-string "%s.%N") (random most-positive-fixnum))))

(provide 'reel-link)
;;; reel-link.el ends here
