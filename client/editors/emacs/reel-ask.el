;;; reel-ask.el --- The user's command that lets a model answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The plug-in calls no provider: it runs `reel ask', or the command in
;; `reel-ask-command'.

;;; Code:

(require 'cl-lib)
(require 'reel-link)

(defcustom reel-ask-command nil
  "The command that lets a model answer: a list, or a string for the shell.
$REEL_AGENT is the conversation.  The command adds the answer itself.
If this is nil, it is `reel-program' with the argument \"ask\"."
  :group 'reel
  :type '(choice (const :tag "reel ask" nil) string (repeat string)))

(defvar reel-ask--running nil
  "The processes that run, by the agent's id.")

(defun reel-ask-running-p (agent)
  "Return whether the command is running for AGENT."
  (and (assoc agent reel-ask--running) t))

(defun reel-ask-check (agent name)
  "Signal a `user-error' if the command cannot be run now for AGENT, named NAME."
  (when (reel-ask-running-p agent)
    (user-error "%s: the command is still running (M-x reel-stop ends it)" name)))

(defun reel-ask-start (agent name)
  "Run the command for AGENT, named NAME."
  (reel-ask-check agent name)
  (let* ((errors (generate-new-buffer " *reel ask*"))
         (process-environment (append (list (concat "REEL_AGENT=" name)
                                            (concat "REEL_SOCKET=" (reel-link-address))
                                            (concat "PYTHONPATH=" (reel-link-python-path)))
                                      process-environment))
         ;; The input of a process is a pipe.  `reel ask' reads a question from
         ;; one, and refuses an empty one: its program failed.
         (command (append '("sh" "-c" "exec \"$@\" < /dev/null" "sh")
                          (if (stringp reel-ask-command)
                              (list shell-file-name shell-command-switch reel-ask-command)
                            (or reel-ask-command (list reel-program "ask")))))
         (process (make-process :name "reel-ask" :command command :noquery t
                                :connection-type 'pipe :filter #'ignore
                                :stderr errors
                                :sentinel (reel-ask--sentinel agent name errors))))
    (push (cons agent process) reel-ask--running)
    (when-let* ((pipe (get-buffer-process errors)))
      (set-process-query-on-exit-flag pipe nil)
      (set-process-sentinel pipe #'ignore))
    (force-mode-line-update t)))

(defun reel-ask--sentinel (agent name errors)
  "Return the sentinel of the command for AGENT, named NAME.
ERRORS is the buffer with what the command prints to its standard error."
  (lambda (process _event)
    (unless (process-live-p process)
      (let ((stopped (not (reel-ask-running-p agent)))
            (status (process-exit-status process)))
        (setq reel-ask--running (assoc-delete-all agent reel-ask--running))
        (force-mode-line-update t)
        (if (or stopped (eq status 0))
            (kill-buffer errors)
          ;; Later: what the command printed may come after its end.
          (run-at-time 0.1 nil #'reel-ask--failed name status errors))))))

(defun reel-ask--failed (name status errors)
  "Show why the command for NAME ended with STATUS: the last line in ERRORS."
  (let ((line (car (last (split-string (with-current-buffer errors (buffer-string)) "\n" t)))))
    (message "%s: %s" name (or line (format "the command ended with status %s" status))))
  (kill-buffer errors))

(defun reel-ask-stop (agent name)
  "Stop the command for AGENT, named NAME."
  (let ((process (cdr (assoc agent reel-ask--running))))
    (unless process
      (user-error "%s: no command is running" name))
    (setq reel-ask--running (assoc-delete-all agent reel-ask--running))
    (kill-process process)
    (force-mode-line-update t)))

(provide 'reel-ask)
;;; reel-ask.el ends here
