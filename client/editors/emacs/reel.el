;;; reel.el --- Conversations of LLM agents, live in a buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT
;; Version: 0.1
;; Package-Requires: ((emacs "27.1"))
;; Keywords: tools, processes

;;; Commentary:

;; reeld is a daemon that owns the conversations of LLM agents.  This shows a
;; conversation in a buffer and keeps the buffer current while anybody adds to
;; it.
;;
;;   (add-to-list 'load-path "~/reel/client/editors/emacs")
;;   (require 'reel)
;;
;; reel-open shows a conversation, reel-new creates one, reel-list lists all,
;; and reel-search searches them.  reel-send and reel-compose send a message,
;; reel-ask runs your own command for an answer, reel-code and reel-answer copy
;; from one.  reel-clone, reel-mark, reel-rewind, reel-undo, reel-redo and
;; reel-clear navigate; reel-rename, reel-title and reel-info are about the
;; conversation.  C-h m shows the keys of its buffer, docs/editors.md the rest.
;;
;; A command is about the conversation of the current buffer, in any other
;; buffer about the one that was opened last.

;;; Code:

(require 'cl-lib)
(require 'reel-ask)
(require 'reel-compose)
(require 'reel-lines)
(require 'reel-link)
(require 'reel-list)
(require 'reel-markdown)
(require 'reel-search)
(require 'reel-text)

(defvar reel--last nil
  "The buffer of the conversation that was opened last.")

(defvar reel--retry nil
  "The timer that tries to reach the daemon again, or nil.")

(defvar reel--is-away nil
  "Whether it was said that the daemon is away.")

(defconst reel--pauses '(0.1 . 2)
  "The first and the longest pause before an attempt to reach the daemon.")

(defvar reel--pause (car reel--pauses)
  "How many seconds to wait before the next attempt; it doubles.")

(defconst reel--away "the daemon went away; waiting for it to come back"
  "What is said when the connection was lost.")

(defconst reel--kinds '("clear" "clone" "mark" "restore" "rewind")
  "The commands that people know by their kind; all others added messages.")

;;;; Buffers and the connection

(defun reel--ignore-local-variables ()
  "Let nothing in the current buffer set variables: its text is other people's.
Nor may a file in the current directory set them."
  (setq-local enable-local-variables nil
              enable-local-eval nil
              enable-dir-local-variables nil))

(defun reel--buffers ()
  "Return the buffers with conversations."
  (cl-remove-if-not (lambda (buffer) (buffer-local-value 'reel-lines-agent buffer))
                    (buffer-list)))

(defun reel--each (function &rest arguments)
  "Call FUNCTION with ARGUMENTS in each of `reel--buffers'."
  (dolist (buffer (reel--buffers))
    (with-current-buffer buffer
      (apply function arguments))))

(defun reel--hear (method params)
  "Pass the push METHOD with PARAMS to the buffers."
  (reel--each #'reel-lines-hear method params))

(defun reel--opened ()
  "Continue in all buffers, over the new connection."
  (when reel--is-away
    (message "the daemon is back"))
  (setq reel--is-away nil
        reel--pause (car reel--pauses))
  (reel--each #'reel-lines-follow))

(defun reel--lost ()
  "Show in the buffers that the daemon is away, and try to reach it again."
  (when (and (reel--buffers) (not (reel-link-up-p)))
    (reel--each #'reel-lines-lost reel--away)
    (unless reel--is-away
      (message "%s" reel--away))
    (setq reel--is-away t)
    (reel--plan)))

(defun reel--plan ()
  "Plan the next attempt to reach the daemon, unless one is planned."
  (unless reel--retry
    (setq reel--retry (run-at-time reel--pause nil #'reel--reconnect)
          reel--pause (min (* 2 reel--pause) (cdr reel--pauses)))))

(defun reel--reconnect ()
  "Try to reach the daemon; do not start it, it may have been stopped on purpose."
  (setq reel--retry nil)
  (when (reel--buffers)
    (condition-case nil
        (reel-link-connect)
      (error (reel--plan)))))

(setq reel-link-push-function #'reel--hear)
(add-hook 'reel-link-open-hook #'reel--opened)
(add-hook 'reel-link-lost-hook #'reel--lost)

;;;; The mode

(defvar reel-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "s" #'reel-send)
    (define-key map "w" #'reel-compose)
    (define-key map "a" #'reel-ask)
    (define-key map "k" #'reel-stop)
    (define-key map "y" #'reel-code)
    (define-key map "Y" #'reel-answer)
    (define-key map "R" #'reel-rename)
    (define-key map "T" #'reel-title)
    (define-key map "c" #'reel-clone)
    (define-key map "m" #'reel-mark)
    (define-key map "r" #'reel-rewind)
    (define-key map "u" #'reel-undo)
    (define-key map "U" #'reel-redo)
    (define-key map "C" #'reel-clear)
    (define-key map "i" #'reel-info)
    (define-key map "l" #'reel-list)
    (define-key map "/" #'reel-search)
    (define-key map "n" #'reel-next)
    (define-key map "p" #'reel-previous)
    (define-key map (kbd "TAB") #'reel-toggle)
    (define-key map [remap undo] #'reel-undo)
    (define-key map [remap undo-redo] #'reel-redo)
    map)
  "Keymap of `reel-mode'.")

(define-derived-mode reel-mode special-mode "reel"
  "Major mode for a conversation, which is kept current.

\\{reel-mode-map}"
  (reel--ignore-local-variables)
  (buffer-disable-undo)
  (visual-line-mode)
  (add-to-invisibility-spec '(reel-fold . t))
  (setq-local revert-buffer-function (lambda (&rest _) (reel--refresh)))
  (setq-local outline-regexp "##+ ")
  (jit-lock-register #'reel-markdown-fontify)
  (setq-local mode-line-process '(:eval (reel--activity))))

(defun reel--activity ()
  "Return the text for the mode line: what is going on in this conversation.
A mode line interprets %, and names are other people's text: each is replaced."
  (let ((words (append
                (and reel-lines-past (list (format "as it was at #%d" reel-lines-past)))
                (and reel-lines-state (list reel-lines-state))
                (reel-lines-writers)
                (and (reel-ask-running-p reel-lines-agent) '("asking")))))
    (if words
        (replace-regexp-in-string "[[:cntrl:]%]" "?" (concat ":" (string-join words " · ")) t t)
      "")))

(defun reel--refresh ()
  "Read the conversation again."
  (if (reel-link-up-p)
      (reel-lines-follow)
    (reel-link-connect t)))

(defun reel-next ()
  "Go to the next message or hit."
  (interactive)
  (reel--go #'next-single-property-change (point-max)))

(defun reel-previous ()
  "Go to the previous message or hit."
  (interactive)
  (reel--go #'previous-single-property-change (point-min)))

(defun reel--go (change limit)
  "Go to the heading found by CHANGE; LIMIT is as in `reel-lines-heading'."
  (goto-char (or (reel-lines-heading change (line-beginning-position) limit)
                 (user-error "There is no other one"))))

(defun reel-toggle ()
  "Open the fold on this line, or close it again."
  (interactive)
  (let* ((position (if (get-text-property (point) 'reel-fold) (point) (line-end-position)))
         (inhibit-read-only t))
    (unless (get-text-property position 'reel-fold)
      (user-error "Nothing is folded here"))
    (let ((begin (previous-single-property-change (1+ position) 'reel-fold))
          (end (next-single-property-change position 'reel-fold nil (point-max))))
      (put-text-property begin end 'invisible
                         (unless (get-text-property position 'invisible) 'reel-fold))
      (goto-char begin)
      (set-buffer-modified-p nil))))

;;;; Which conversation

(defun reel--buffer ()
  "Return the buffer of the conversation that a command is about."
  (cond (reel-lines-agent (current-buffer))
        (reel-compose-conversation (reel--composed))
        ((buffer-live-p reel--last) reel--last)
        (t (user-error "No conversation is open (M-x reel-open opens one)"))))

(defun reel--composed ()
  "Return the buffer of the conversation that the current buffer composes to."
  (if (buffer-live-p reel-compose-conversation)
      reel-compose-conversation
    (user-error "The buffer of this conversation was killed (M-x reel-open shows it again)")))

(defun reel--name ()
  "Return the name of the conversation that a command is about."
  (buffer-local-value 'reel-lines-name (reel--buffer)))

(defun reel--agent ()
  "Return the id of the conversation that a command is about."
  (buffer-local-value 'reel-lines-agent (reel--buffer)))

(defun reel--command (method &rest params)
  "Call METHOD with PARAMS on the conversation; return the result."
  (apply #'reel-link-call method :agent (reel--agent) params))

(defun reel--show (info &optional past)
  "Show the conversation that INFO is about; return its buffer.
With PAST, the seq of an event, show the conversation as it was then."
  (let* ((id (plist-get info :id))
         (name (plist-get info :name))
         (known (cl-find (list id past) (reel--buffers) :test #'equal
                         :key (lambda (buffer) (list (buffer-local-value 'reel-lines-agent buffer)
                                                     (buffer-local-value 'reel-lines-past buffer)))))
         (buffer (or known (generate-new-buffer (reel-lines-buffer-name name past)))))
    (unless known
      (with-current-buffer buffer
        (reel-mode)
        (reel-lines-start id name past)))
    (setq reel--last buffer)
    (pop-to-buffer buffer)))

(defun reel--optional (text)
  "Return TEXT, or nil if it is empty."
  (unless (string-empty-p text) text))

(defun reel--marks (_prefix)
  "Return the labels that the conversation can be rewound to."
  (reel-text-marks (reel--command 'agent)))

;;;; Commands

;;;###autoload
(defun reel-open (agent)
  "Show the conversation AGENT, a name, an id or a short form."
  (interactive
   (list (completing-read "Open: " (reel-list-table))))
  (pcase (reel-link-try 'agent :agent agent)
    (`(result ,info) (reel--show info))
    (`(error ,error)
     (if (equal (reel-link-name error) "not_found")
         (reel--show (reel--meant agent))
       (user-error "%s" (reel-link-words error))))))

(defun reel--meant (typed)
  "Return the agent for which the short form TYPED stands.
Killed ones count only if no live one is meant."
  (let* ((found (and (reel-link-knows-p "short_names")
                     (append (plist-get (reel-link-call 'agents :short typed :limit 100) :agents)
                             nil)))
         (live (cl-remove-if-not (lambda (agent) (eq (plist-get agent :alive) t)) found))
         (meant (or live found))
         (names (mapcar (lambda (agent) (plist-get agent :name)) meant)))
    (cond ((null meant)
           (user-error "%s" (format "no conversation %s (M-x reel-new creates it)" typed)))
          ((cdr meant)
           (user-error "%s" (format "no conversation %s, but several are meant by it: %s%s" typed
                                    (mapconcat #'identity (seq-take names 6) ", ")
                                    (if (nthcdr 6 names) ", ..." "")))))
    (car meant)))

;;;###autoload
(defun reel-new (name &optional system)
  "Create a conversation named NAME, with the prompt SYSTEM, and show it.
If NAME is empty, the daemon chooses one.  SYSTEM is asked for with a prefix
argument."
  (interactive
   (list (read-string "Name (empty: the daemon chooses one): ")
         (and current-prefix-arg (read-string "System prompt: "))))
  (reel--show (reel-link-call 'create :agent (reel--optional name) :system system)))

;;;###autoload
(defun reel-send (text)
  "Send TEXT: the region if it is active, else a text that is asked for."
  (interactive
   (let ((name (reel--name)))
     (list (if (use-region-p)
               (buffer-substring-no-properties (region-beginning) (region-end))
             (read-string (format "To %s: " name))))))
  (message "%s" (reel-link-send (reel--agent) (reel--name) text))
  (deactivate-mark))

;;;###autoload
(defun reel-compose ()
  "Write a message in a buffer, and send it from there."
  (interactive)
  (reel-compose-open (reel--buffer) (reel--agent) (reel--name)))

;;;###autoload
(defun reel-ask (text)
  "Send TEXT unless it is empty, then run `reel-ask-command' for an answer.
TEXT is the region if it is active, else a text that is asked for."
  (interactive
   (let ((name (reel--name)))
     (reel-ask-check (reel--agent) name)
     (list (if (use-region-p)
               (buffer-substring-no-properties (region-beginning) (region-end))
             (read-string (format "Ask %s (empty: what was sent before): " name))))))
  (let ((agent (reel--agent)) (name (reel--name)))
    (reel-ask-check agent name)
    (unless (string-blank-p text)
      (message "%s" (reel-link-send agent name text)))
    (reel-ask-start agent name)
    (deactivate-mark)))

(defun reel-stop ()
  "Stop the command of `reel-ask'."
  (interactive)
  (reel-ask-stop (reel--agent) (reel--name)))

(defun reel-answer ()
  "Copy the text of the last answer, after its last call if it has one."
  (interactive)
  (let ((answer (reel--copy nil "no answer to copy")))
    (message "%s: copied the answer #%d" (reel--name) (plist-get answer :seq))))

(defun reel-code ()
  "Copy the last code block of an answer."
  (interactive)
  (let* ((answer (reel--copy t "no code block in an answer"))
         (lines (split-string (plist-get answer :text) "\n")))
    (message "%s: copied %s%s from #%d" (reel--name)
             (reel-text-count (length lines) "line")
             (if (equal (plist-get answer :language) "") "" (concat " of " (plist-get answer :language)))
             (plist-get answer :seq))))

(defun reel--copy (code missing)
  "Copy the last answer, or with CODE the last code block; return the reply.
If there is none, signal an error that says that it is MISSING."
  (let ((answer (reel--command 'answer :code (if code t :json-false))))
    (unless (plist-get answer :seq)
      (user-error "%s: %s" (reel--name) missing))
    (kill-new (plist-get answer :text))
    answer))

;;;###autoload
(defun reel-clone (name)
  "Start a conversation named NAME from the current state of this one.
Show it.
If NAME is empty, the daemon chooses one."
  (interactive
   (list (read-string (format "Name of the clone of %s (empty: the daemon chooses one): " (reel--name)))))
  (reel--show (reel--command 'clone :name (reel--optional name)
                             :at (buffer-local-value 'reel-lines-past (reel--buffer)))))

;;;###autoload
(defun reel-mark (label)
  "Set a mark to rewind to, with LABEL, which may be empty."
  (interactive (list (read-string (format "Label of the mark in %s (may be empty): " (reel--name)))))
  (let ((reply (reel--command 'mark :label (reel--optional label))))
    (message "%s: marked%s (#%d)" (reel--name)
             (if (string-empty-p label) "" (concat " as " label))
             (plist-get reply :seq))))

;;;###autoload
(defun reel-rewind (label)
  "Go back to the newest mark with LABEL.
If LABEL is empty, go back to the newest mark with a message after it."
  (interactive
   (list (completing-read (format "Rewind %s to (empty: the newest mark): " (reel--name))
                          (completion-table-dynamic #'reel--marks))))
  (let* ((reply (reel--command 'rewind :label (reel--optional label)))
         (seq (format "#%d" (plist-get reply :target)))
         (called (or (plist-get reply :label) label)))
    (message "%s: back at %s; %s set aside" (reel--name)
             (if (string-empty-p called) (concat "mark " seq) (format "%s (%s)" called seq))
             (reel-text-count (plist-get reply :dropped) "message"))))

;;;###autoload
(defun reel-undo ()
  "Undo the newest command on the conversation, whoever gave it."
  (interactive)
  (let ((reply (reel--command 'undo)))
    (message "%s: undid %s; M-x reel-redo does it again" (reel--name)
             (reel--called (plist-get reply :undone)))))

(defun reel--called (seq)
  "Return what to call the command with SEQ.
That is `the rewind (#7)', or `#3' if the command added messages."
  (let* ((page (reel--command 'history :since (1- seq) :limit 1))
         (events (append (plist-get page :events) nil))
         (kind (plist-get (car events) :kind)))
    (if (member kind reel--kinds) (format "the %s (#%d)" kind seq) (format "#%d" seq))))

;;;###autoload
(defun reel-redo ()
  "Redo what the newest undo undid."
  (interactive)
  (let ((reply (reel--command 'redo)))
    (message "%s: redid %s" (reel--name) (reel--called (plist-get reply :redone)))))

;;;###autoload
(defun reel-clear ()
  "Remove all messages, but not the system prompt."
  (interactive)
  (reel--command 'clear)
  (message "%s: cleared; M-x reel-undo brings it back" (reel--name)))

(defun reel-rename (name)
  "Give the conversation another NAME."
  (interactive (list (read-string (format "Rename %s to: " (reel--name)))))
  (let ((before (reel--name)))
    (message "%s renamed to %s" before (plist-get (reel--command 'change :name name) :name))))

(defun reel-title (title)
  "Set the TITLE that lists show; remove it if TITLE is empty."
  (interactive (list (read-string (format "Title of %s (empty: none): " (reel--name)))))
  (message "%s: %s" (reel--name)
           (or (plist-get (reel--command 'change :title title) :title) "no title")))

;;;###autoload
(defun reel-info ()
  "Show the facts about the conversation."
  (interactive)
  (let ((lines (plist-get (reel--command 'facts) :lines)))
    (with-current-buffer (get-buffer-create "*reel info*")
      (special-mode)
      (reel--ignore-local-variables)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (mapc (lambda (line) (insert line "\n")) lines))
      (goto-char (point-min))
      (display-buffer (current-buffer)))))

(provide 'reel)
;;; reel.el ends here
