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
;; M-x reel-open     shows a conversation; its name is completed
;; M-x reel-new      creates one (C-u: with a system prompt)
;; M-x reel-send     sends the region, or asks for a text
;; M-x reel-list     lists the conversations, to choose one
;; M-x reel-clone    starts a new one from the current state of this one
;; M-x reel-mark     sets a mark; M-x reel-rewind goes back to one
;; M-x reel-undo     undoes the newest command; M-x reel-redo redoes it
;; M-x reel-clear    removes all messages, but not the system prompt
;; M-x reel-info     shows the facts about the conversation
;;
;; In the buffer of a conversation, a command is about that one; in any other
;; buffer, about the one that was opened last.  A conversation's buffer has
;; keys: s send, c clone, m mark, r rewind, u undo, U redo, C clear, i info,
;; l list, n and p the next and the previous message, TAB opens or closes the
;; fold on the line, g reads everything again, q buries the buffer.
;;
;; The daemon's socket is $REEL_SOCKET, or the one that `reel socket' prints.
;; If no daemon runs, `reel-program' starts it, unless it was stopped with
;; `reel stop'.  If the daemon goes away, the mode line says `away', and the
;; buffers continue by themselves when it is back.

;;; Code:

(require 'cl-lib)
(require 'tabulated-list)
(require 'reel-link)
(require 'reel-text)
(require 'reel-copy)

(defvar reel--last nil
  "The buffer of the conversation that was opened last.")

(defvar reel--retry nil
  "The timer that tries to reach the daemon again, or nil.")

(defconst reel--pause 1
  "How many seconds to wait between two attempts to reach the daemon.")

(defconst reel--shown 200
  "How many names completion offers at most.")

;;;; Buffers and the connection

(defun reel--ignore-local-variables ()
  "Let nothing in the current buffer set variables: its text is other people's.
Nor may a file in the current directory set them."
  (setq-local enable-local-variables nil
              enable-local-eval nil
              enable-dir-local-variables nil))

(defun reel--buffers ()
  "Return the buffers with conversations."
  (cl-remove-if-not (lambda (buffer) (buffer-local-value 'reel-copy-agent buffer))
                    (buffer-list)))

(defun reel--each (function &rest arguments)
  "Call FUNCTION with ARGUMENTS in each of `reel--buffers'."
  (dolist (buffer (reel--buffers))
    (with-current-buffer buffer
      (apply function arguments))))

(defun reel--hear (method params)
  "Pass the push METHOD with PARAMS to the buffers."
  (reel--each #'reel-copy-hear method params))

(defun reel--opened ()
  "Continue in all buffers, over the new connection."
  (when reel--retry
    (message "the daemon is back"))
  (reel--stop)
  (reel--each #'reel-copy-follow))

(defun reel--lost ()
  "Show in the buffers that the daemon is away, and try to reach it again."
  (unless (reel-link-up-p)
    (reel--each #'reel-copy-lost)
    (unless reel--retry
      (when (reel--buffers)
        (message "the daemon went away; waiting for it to come back"))
      (setq reel--retry (run-at-time 0 reel--pause #'reel--reconnect)))))

(defun reel--reconnect ()
  "Try to reach the daemon; do not start it, it may have been stopped on purpose."
  (if (reel--buffers)
      (ignore-errors (reel-link-connect))
    (reel--stop)))

(defun reel--stop ()
  "Stop trying to reach the daemon."
  (when reel--retry
    (cancel-timer reel--retry)
    (setq reel--retry nil)))

(setq reel-link-push-function #'reel--hear)
(add-hook 'reel-link-open-hook #'reel--opened)
(add-hook 'reel-link-lost-hook #'reel--lost)

;;;; The mode

(defvar reel-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "s" #'reel-send)
    (define-key map "c" #'reel-clone)
    (define-key map "m" #'reel-mark)
    (define-key map "r" #'reel-rewind)
    (define-key map "u" #'reel-undo)
    (define-key map "U" #'reel-redo)
    (define-key map "C" #'reel-clear)
    (define-key map "i" #'reel-info)
    (define-key map "l" #'reel-list)
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
  (setq-local mode-line-process '(reel-copy-state (":" reel-copy-state))))

(defun reel--refresh ()
  "Read the conversation again."
  (if (reel-link-up-p)
      (reel-copy-refresh)
    (reel-link-connect t)))

(defun reel-next ()
  "Go to the next message."
  (interactive)
  (reel--go #'next-single-property-change (point-max)))

(defun reel-previous ()
  "Go to the previous message."
  (interactive)
  (reel--go #'previous-single-property-change (point-min)))

(defun reel--go (change limit)
  "Go to the heading found by CHANGE, a function like `next-property-change'.
LIMIT is the end of the buffer in that direction."
  (let* ((here (line-beginning-position))
         (there (funcall change here 'reel-heading nil limit)))
    (unless (get-text-property there 'reel-heading) ; the end of a heading
      (setq there (funcall change there 'reel-heading nil limit)))
    (when (or (= there here) (not (get-text-property there 'reel-heading)))
      (user-error "There is no other message"))
    (goto-char there)))

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
  (cond (reel-copy-agent (current-buffer))
        ((buffer-live-p reel--last) reel--last)
        (t (user-error "No conversation is open (M-x reel-open opens one)"))))

(defun reel--name ()
  "Return the name of the conversation that a command is about."
  (buffer-local-value 'reel-copy-name (reel--buffer)))

(defun reel--command (method &rest params)
  "Call METHOD with PARAMS on the conversation; return the result."
  (apply #'reel-link-call method
         :agent (buffer-local-value 'reel-copy-agent (reel--buffer)) params))

(defun reel--show (info)
  "Show the conversation that INFO is about; return its buffer."
  (let* ((id (plist-get info :id))
         (name (plist-get info :name))
         (known (cl-find id (reel--buffers) :test #'equal
                         :key (lambda (buffer) (buffer-local-value 'reel-copy-agent buffer))))
         (buffer (or known (generate-new-buffer (reel-copy-buffer-name name)))))
    (unless known
      (with-current-buffer buffer
        (reel-mode)
        (reel-copy-start id name)))
    (setq reel--last buffer)
    (pop-to-buffer buffer)))

(defun reel--optional (text)
  "Return TEXT, or nil if it is empty."
  (unless (string-empty-p text) text))

(defun reel--names (prefix)
  "Return the names of the live agents that begin with PREFIX."
  (mapcar (lambda (agent) (plist-get agent :name))
          (plist-get (reel-link-call 'agents :prefix prefix :alive t :limit reel--shown) :agents)))

(defun reel--marks (_prefix)
  "Return the labels that the conversation can be rewound to."
  (reel-text-marks (reel--command 'agent)))

;;;; Commands

;;;###autoload
(defun reel-open (agent)
  "Show the conversation AGENT, a name or an id."
  (interactive
   (list (completing-read "Open: " (completion-table-dynamic #'reel--names))))
  (pcase (reel-link-try 'agent :agent agent)
    (`(result ,info) (reel--show info))
    (`(error ,error)
     (user-error "%s" (if (equal (reel-link-name error) "not_found")
                          (format "No conversation %s (M-x reel-new creates it)" agent)
                        (reel-link-words error))))))

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
  (if (string-empty-p text)
      (message "nothing sent")
    (reel--send text)))

(defun reel--send (text)
  "Send TEXT, and say which message it is."
  (pcase-let* ((`(,plain . ,count) (reel-text-plain text))
               (reply (reel--command 'add :messages plain))
               (replaced (+ count (or (plist-get reply :replaced) 0))))
    (deactivate-mark)
    (message "%s: added #%d%s" (reel--name) (plist-get reply :first)
             (if (= replaced 0)
                 ""
               (format "; %s replaced by U+FFFD" (reel-text-count replaced "character"))))))

;;;###autoload
(defun reel-clone (name)
  "Start a conversation named NAME from the current state of this one.
Show it.
If NAME is empty, the daemon chooses one."
  (interactive
   (list (read-string (format "Name of the clone of %s (empty: the daemon chooses one): " (reel--name)))))
  (reel--show (reel--command 'clone :name (reel--optional name))))

;;;###autoload
(defun reel-mark (label)
  "Set a mark to rewind to, with LABEL, which may be empty."
  (interactive (list (read-string (format "Label of the mark in %s (may be empty): " (reel--name)))))
  (let ((reply (reel--command 'mark :label (reel--optional label))))
    (message "%s: mark%s set (#%d)" (reel--name)
             (if (string-empty-p label) "" (concat " " label))
             (plist-get reply :seq))))

;;;###autoload
(defun reel-rewind (label)
  "Go back to the newest mark with LABEL.
If LABEL is empty, go back to the newest mark with a message after it."
  (interactive
   (list (completing-read (format "Rewind %s to (empty: the newest mark): " (reel--name))
                          (completion-table-dynamic #'reel--marks))))
  (let ((reply (reel--command 'rewind :label (reel--optional label))))
    (message "%s: back at %s (#%d); %s set aside" (reel--name)
             (if (string-empty-p label) "the newest mark" (concat "mark " label))
             (plist-get reply :target)
             (reel-text-count (plist-get reply :dropped) "record"))))

;;;###autoload
(defun reel-undo ()
  "Undo the newest command on the conversation, whoever gave it."
  (interactive)
  (let ((reply (reel--command 'undo)))
    (message "%s: undid #%d; M-x reel-redo brings it back" (reel--name) (plist-get reply :undone))))

;;;###autoload
(defun reel-redo ()
  "Redo what the newest undo undid."
  (interactive)
  (let ((reply (reel--command 'redo)))
    (message "%s: redid #%d" (reel--name) (plist-get reply :redone))))

;;;###autoload
(defun reel-clear ()
  "Remove all messages, but not the system prompt."
  (interactive)
  (reel--command 'clear)
  (message "%s: cleared; M-x reel-undo brings it back" (reel--name)))

;;;###autoload
(defun reel-info ()
  "Show the facts about the conversation."
  (interactive)
  (let ((info (reel--command 'agent)))
    (with-current-buffer (get-buffer-create "*reel info*")
      (special-mode)
      (reel--ignore-local-variables)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (reel-text-info info)))
      (goto-char (point-min))
      (display-buffer (current-buffer)))))

;;;; The list

(defvar reel-list-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'reel-list-open)
    (define-key map "+" #'reel-new)
    map)
  "Keymap of `reel-list-mode'.")

(define-derived-mode reel-list-mode tabulated-list-mode "reel list"
  "Major mode for the list of live conversations; RET opens one.

\\{reel-list-mode-map}"
  (setq tabulated-list-format [("Name" 28 t) ("Head" 8 nil) ("Updated" 20 t) ("Title" 0 t)]
        tabulated-list-padding 1)
  (reel--ignore-local-variables)
  (add-hook 'tabulated-list-revert-hook #'reel--list-read nil t)
  (tabulated-list-init-header))

;;;###autoload
(defun reel-list ()
  "List the conversations, to choose one."
  (interactive)
  (let ((agents (reel--agents)))
    (with-current-buffer (get-buffer-create "*reel list*")
      (reel-list-mode)
      (setq tabulated-list-entries (mapcar #'reel--row agents))
      (tabulated-list-print)
      (pop-to-buffer (current-buffer)))
    (unless agents
      (message "no conversations (M-x reel-new creates one)"))))

(defun reel--list-read ()
  "Read the list again."
  (setq tabulated-list-entries (mapcar #'reel--row (reel--agents))))

(defun reel--agents ()
  "Return all live agents, the one that changed last first."
  (let ((more t) agents)
    (while more
      (let ((page (reel-link-call 'agents :alive t :after (plist-get (car agents) :id))))
        (setq agents (nconc (nreverse (append (plist-get page :agents) nil)) agents)
              more (eq (plist-get page :more) t))))
    (sort agents (lambda (one other) (> (plist-get one :updated) (plist-get other :updated))))))

(defun reel--row (agent)
  "Return the line of the list for AGENT."
  (list (plist-get agent :id)
        (vector (plist-get agent :name)
                (format "#%d" (plist-get agent :head))
                (reel-text-time (plist-get agent :updated))
                (reel-text-one-line (or (plist-get agent :title) "")))))

(defun reel-list-open ()
  "Open the conversation at point."
  (interactive)
  (reel-open (or (tabulated-list-get-id) (user-error "No conversation on this line"))))

(provide 'reel)
;;; reel.el ends here
