;;; reel-list.el --- The list of conversations  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A buffer with a line for each conversation, and the table from which
;; `completing-read' completes their names.

;;; Code:

(require 'tabulated-list)
(require 'reel-link)
(require 'reel-text)

(declare-function reel-open "reel")
(declare-function reel-new "reel")
(declare-function reel-search "reel-search")
(declare-function reel--ignore-local-variables "reel")

(defconst reel-list--many 1000
  "Up to how many messages the daemon counts for a list.")

(defvar reel-list-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'reel-list-open)
    (define-key map "+" #'reel-new)
    (define-key map "/" #'reel-search)
    map)
  "Keymap of `reel-list-mode'.")

(define-derived-mode reel-list-mode tabulated-list-mode "reel list"
  "Major mode for the list of live conversations; RET opens one.

\\{reel-list-mode-map}"
  (setq tabulated-list-format [("Name" 28 t) ("Updated" 18 t) ("Messages" 9 nil) ("About" 0 t)]
        tabulated-list-padding 1)
  (reel--ignore-local-variables)
  (add-hook 'tabulated-list-revert-hook #'reel-list--read nil t)
  (tabulated-list-init-header))

;;;###autoload
(defun reel-list ()
  "List the conversations, to choose one."
  (interactive)
  (let ((agents (reel-list-agents)))
    (with-current-buffer (get-buffer-create "*reel list*")
      (reel-list-mode)
      (setq tabulated-list-entries (mapcar #'reel-list--row agents))
      (tabulated-list-print)
      (pop-to-buffer (current-buffer)))
    (unless agents
      (message "no conversations (M-x reel-new creates one)"))))

(defun reel-list--read ()
  "Read the list again."
  (setq tabulated-list-entries (mapcar #'reel-list--row (reel-list-agents))))

(defun reel-list-agents ()
  "Return all live agents, each once, the last changed first."
  (let ((more t) (seen (make-hash-table :test #'equal)) agents)
    (while more
      (let ((page (reel-link-call 'agents :alive t :order "updated" :details t
                                  :after (plist-get (car agents) :id))))
        (mapc (lambda (agent)
                ;; One that changes while the list is read comes twice.
                (unless (gethash (plist-get agent :id) seen)
                  (puthash (plist-get agent :id) t seen)
                  (push agent agents)))
              (plist-get page :agents))
        (setq more (eq (plist-get page :more) t))))
    (nreverse agents)))

(defun reel-list--row (agent)
  "Return the line of the list for AGENT."
  (list (plist-get agent :id)
        (vector (reel-list--name agent)
                (reel-text-minute (plist-get agent :updated))
                (format (if (< (plist-get agent :messages) reel-list--many) "%d" "%d+")
                        (plist-get agent :messages))
                (reel-text-about agent))))

(defun reel-list-open ()
  "Open the conversation at point."
  (interactive)
  (reel-open (or (tabulated-list-get-id) (user-error "No conversation on this line"))))

(defun reel-list-table ()
  "Return a completion table of the names of all conversations.
A name with a generated id has its shortest form.  They are read once, so
every style of completion works, in the order of the list, with what each
is about."
  (let* ((agents (reel-list-agents))
         (names (mapcar #'reel-list--name agents))
         (by-name (make-hash-table :test #'equal)))
    (dolist (agent agents)
      (puthash (reel-list--name agent) agent by-name))
    (lambda (string predicate action)
      (if (eq action 'metadata)
          `(metadata (category . reel)
                     (display-sort-function . identity)
                     (annotation-function
                      . ,(lambda (name) (reel-list--annotation (gethash name by-name)))))
        (complete-with-action action names string predicate)))))

(defun reel-list--name (agent)
  "Return the shortest form of the name of AGENT; an older daemon has none."
  (or (plist-get agent :short) (plist-get agent :name)))

(defun reel-list--annotation (agent)
  "Return the annotation of AGENT in completion."
  (format "  %s  %s" (reel-text-minute (plist-get agent :updated)) (reel-text-about agent)))

(provide 'reel-list)
;;; reel-list.el ends here
