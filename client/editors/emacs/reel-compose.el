;;; reel-compose.el --- A buffer to write a message in  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; C-c C-c and C-x C-s send the buffer.  What was not sent stays in it.

;;; Code:

(require 'cl-lib)
(require 'reel-link)
(require 'reel-text)

(defvar-local reel-compose-conversation nil
  "The buffer of the conversation that this buffer composes a message to.")

(defvar-local reel-compose--agent nil
  "The id and the name of that conversation, as a cons.")

(defvar reel-compose-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'reel-compose-send)
    (define-key map [remap save-buffer] #'reel-compose-send)
    map)
  "Keymap of `reel-compose-mode'.")

(define-derived-mode reel-compose-mode text-mode "reel compose"
  "Major mode to write a message to a conversation.

\\{reel-compose-mode-map}"
  (add-hook 'kill-buffer-query-functions #'reel-compose--may-kill nil t))

(defun reel-compose-open (conversation agent name)
  "Show the compose buffer of CONVERSATION, a buffer.
It is about AGENT, whose name is NAME."
  (pop-to-buffer (or (reel-compose--buffer agent)
                     (generate-new-buffer (format "*reel compose %s*" name))))
  (unless reel-compose--agent
    (reel-compose-mode))
  (setq reel-compose-conversation conversation
        reel-compose--agent (cons agent name)
        header-line-format (format " To %s: C-c C-c sends this buffer" name)))

(defun reel-compose--buffer (agent)
  "Return the buffer that composes a message to AGENT, or nil.
Its name may be one that another conversation has now."
  (cl-find agent (buffer-list)
           :key (lambda (buffer) (car (buffer-local-value 'reel-compose--agent buffer)))
           :test #'equal))

(defun reel-compose-send ()
  "Send the buffer, and close its window."
  (interactive)
  (message "%s" (reel-link-send (car reel-compose--agent) (cdr reel-compose--agent) (reel-compose--text)))
  (erase-buffer)
  (quit-window))

(defun reel-compose--text ()
  "Return the whole text, also if the buffer is narrowed."
  (save-restriction
    (widen)
    (buffer-string)))

(defun reel-compose--may-kill ()
  "Return whether the buffer may be killed: it is empty, or the user agrees."
  (or (string-blank-p (reel-compose--text))
      (yes-or-no-p "This message was not sent; kill it anyway? ")))

(defun reel-compose--may-exit ()
  "Return whether Emacs may exit: every message was sent, or the user agrees.
Emacs itself asks about buffers with files only."
  (cl-every (lambda (buffer)
              (with-current-buffer buffer
                (or (null reel-compose--agent)
                    (string-blank-p (reel-compose--text))
                    (yes-or-no-p (format "The message to %s was not sent; exit anyway? "
                                         (cdr reel-compose--agent))))))
            (buffer-list)))

(add-hook 'kill-emacs-query-functions #'reel-compose--may-exit)

(provide 'reel-compose)
;;; reel-compose.el ends here
