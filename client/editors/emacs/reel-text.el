;;; reel-text.el --- What is said about conversations  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Faces, and words about what the daemon sends, plists.  These functions use no
;; connection and no buffer.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defface reel-heading '((t :inherit font-lock-keyword-face :weight bold))
  "The heading of a message."
  :group 'reel)

(defface reel-label '((t :inherit font-lock-comment-face))
  "The line above a fold, and what is no part of a conversation."
  :group 'reel)

(defconst reel-text--bad "[^\x00-\ud7ff\ue000-\x10ffff]"
  "What a buffer may hold but is not a character: lone surrogates, raw bytes.")

(defun reel-text-plain (text)
  "Return a cons: TEXT as it may be sent, and how many characters were replaced."
  (let* ((count 0)
         (replace (lambda (_) (cl-incf count) "\ufffd"))
         (plain (replace-regexp-in-string reel-text--bad replace (string-to-multibyte text) t t)))
    (cons plain count)))

(defun reel-text-time (milliseconds)
  "Return the time MILLISECONDS after the epoch, in local time."
  (format-time-string "%F %T" (/ milliseconds 1000)))

(defun reel-text-minute (milliseconds)
  "Return the time MILLISECONDS after the epoch, without the seconds."
  (format-time-string "%F %H:%M" (/ milliseconds 1000)))

(defun reel-text-one-line (text)
  "Return TEXT without line breaks.
Names, titles and ids are other people's, and a line break would begin
another line."
  (replace-regexp-in-string "[\n\r]+" " " text t t))

(defun reel-text-past (name seq)
  "Return the words below the conversation NAME as it was at the event SEQ."
  (format "%s as it was at #%d (M-x reel-open shows it as it is now)" name seq))

(defun reel-text-count (number thing)
  "Return NUMBER with the noun THING, in the plural if NUMBER is not 1."
  (format "%d %s%s" number thing (if (= number 1) "" "s")))

(defun reel-text-about (agent)
  "Return what AGENT is about: its title, else its first words; and who writes."
  (let ((drafts (mapcar (lambda (client) (format "(writing: %s)" (or client "somebody")))
                        (plist-get agent :drafts))))
    (reel-text-one-line
     (string-join (delq nil (append (list (or (plist-get agent :title) (plist-get agent :first_words))
                                          (and (equal (plist-get agent :turn) "tool")
                                               "(waits for a tool)"))
                                    drafts))
                  "  "))))

(defun reel-text-info (info &optional source)
  "Return the facts about a conversation, from its INFO: a line for each.
SOURCE is the name of the conversation that it was cloned from."
  (mapconcat (lambda (fact)
               (format "%-12s %s\n" (car fact) (reel-text-one-line (cdr fact))))
             (cl-remove-if (lambda (fact) (member (cdr fact) '(nil "")))
                           (reel-text--facts info source))
             ""))

(defun reel-text--facts (info name)
  "Return pairs of a name and a text about a conversation, from its INFO.
NAME is that of the conversation that it was cloned from, or nil."
  (let ((source (plist-get info :source)))
    `(("name" . ,(plist-get info :name))
      ("id" . ,(plist-get info :id))
      ("state" . ,(unless (eq (plist-get info :alive) t) "killed"))
      ("title" . ,(plist-get info :title))
      ("messages" . ,(number-to-string (plist-get info :messages)))
      ("head" . ,(format "#%d" (plist-get info :head)))
      ("marks" . ,(mapconcat #'reel-text--mark (plist-get info :marks) ", "))
      ("waiting for" . ,(mapconcat #'reel-text--call (plist-get info :open_calls) ", "))
      ("tags" . ,(reel-text--tags (plist-get info :tags)))
      ("cloned from" . ,(and source (format "%s at #%d" (or name (plist-get source :agent))
                                                (plist-get source :at))))
      ("created" . ,(reel-text-time (plist-get info :created)))
      ("updated" . ,(reel-text-time (plist-get info :updated)))
      ("followers" . ,(number-to-string (plist-get info :attached)))
      ("prompt" . ,(plist-get info :system)))))

(defun reel-text--mark (mark)
  "Return MARK as text."
  (string-join (delq nil (list (plist-get mark :label) (format "#%d" (plist-get mark :seq)))) " "))

(defun reel-text--call (call)
  "Return CALL as text."
  (format "%s %s" (plist-get call :name) (plist-get call :id)))

(defun reel-text--tags (tags)
  "Return TAGS, a plist, as text."
  (string-join (sort (cl-loop for (name value) on tags by #'cddr
                              collect (format "%s=%s" (substring (symbol-name name) 1) value))
                     #'string<)
               ", "))

(defun reel-text-marks (info)
  "Return the labels set in INFO, newest first, each once."
  (delete-dups
   (delq nil (nreverse (mapcar (lambda (mark) (plist-get mark :label)) (plist-get info :marks))))))

(provide 'reel-text)
;;; reel-text.el ends here
