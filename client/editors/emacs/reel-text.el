;;; reel-text.el --- A conversation as text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; From what the daemon sends, plists, to the text that a buffer shows.
;; Nothing here knows of connections or buffers.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defface reel-heading '((t :inherit font-lock-keyword-face :weight bold))
  "The line that says who speaks."
  :group 'reel)

(defface reel-label '((t :inherit font-lock-comment-face))
  "The line above what is folded, and what stands for something invisible."
  :group 'reel)

(defconst reel-text--bad "[^\x00-\ud7ff\ue000-\x10ffff]"
  "What a buffer may hold and is no character: lone surrogates, single bytes.")

(defun reel-text-plain (text)
  "Give TEXT as it may be sent, and how many characters were replaced, as a cons."
  (let* ((count 0)
         (replace (lambda (_) (cl-incf count) "\ufffd"))
         (plain (replace-regexp-in-string reel-text--bad replace (string-to-multibyte text) t t)))
    (cons plain count)))

(defun reel-text-time (milliseconds)
  "Give the moment MILLISECONDS after the epoch, on the local clock."
  (format-time-string "%F %R" (/ milliseconds 1000)))

(defun reel-text-prompt (system)
  "Give the text of the prompt SYSTEM, which may be nil."
  (if system
      (concat (reel-text--heading "system") (reel-text--body system) "\n")
    ""))

(defun reel-text-message (message)
  "Give the text of MESSAGE."
  (concat (reel-text--heading (format "%s  #%d  %s" (plist-get message :role)
                                      (plist-get message :seq)
                                      (reel-text-time (plist-get message :time))))
          (mapconcat #'reel-text--block (plist-get message :content) "")
          "\n"))

(defun reel-text-draft (text)
  "Give the text of a draft, which begins with TEXT."
  (concat (reel-text--heading "somebody is writing") (reel-text--body text) "\n"))

(defun reel-text--heading (words)
  "Give the line that WORDS head a message with."
  (concat (propertize (concat "## " words) 'face 'reel-heading 'reel-heading t) "\n\n"))

(defun reel-text--body (text)
  "Give TEXT with an end to its last line."
  (if (string-suffix-p "\n" text) text (concat text "\n")))

(defun reel-text--note (&rest words)
  "Give a line of those WORDS that are not nil."
  (concat (propertize (string-join (delq nil words) "  ") 'face 'reel-label) "\n"))

(defun reel-text--folded (label text)
  "Give TEXT under LABEL, folded."
  (let ((hidden (concat "\n" (string-remove-suffix "\n" text))))
    (concat (propertize (concat "### " label) 'face 'reel-label)
            (propertize hidden 'reel-fold t 'invisible 'reel-fold)
            "\n")))

(defun reel-text--block (block)
  "Give the text of BLOCK."
  (pcase (plist-get block :type)
    ("text" (reel-text--body (plist-get block :text)))
    ("thinking" (reel-text--folded "thinking" (plist-get block :text)))
    ("redacted_thinking"
     (reel-text--note (format "### thinking, redacted (%d characters)"
                              (length (plist-get block :data)))))
    ("tool_call"
     (reel-text--folded (format "call %s  %s" (plist-get block :name) (plist-get block :id))
                        (plist-get block :arguments)))
    ("tool_result" (reel-text--result block))
    ("media" (reel-text--media block))
    ("opaque"
     (reel-text--folded (format "opaque block of %s" (plist-get block :provider))
                        (plist-get block :data_json)))
    (type (reel-text--note (format "### a block of type %s; a newer reel can show it" type)))))

(defun reel-text--result (block)
  "Give the text of BLOCK, a tool's result."
  (let ((content (plist-get block :content))
        (failed (eq (plist-get block :is_error) t)))
    (reel-text--folded
     (format "%s  %s" (if failed "error" "result") (plist-get block :tool_call_id))
     (if (stringp content)
         content
       (substring-no-properties (mapconcat #'reel-text--block content ""))))))

(defun reel-text--media (block)
  "Give the line that stands for BLOCK, a picture or the like."
  (reel-text--note "### media" (plist-get block :mime_type) (plist-get block :name)
                   (or (plist-get block :url)
                       (format "%d bytes" (/ (* 3 (length (plist-get block :data_base64))) 4)))))

(defun reel-text-count (number thing)
  "Give NUMBER and the word THING, which is not alone if NUMBER is not 1."
  (format "%d %s%s" number thing (if (= number 1) "" "s")))

(defun reel-text-info (info)
  "Give lines about an agent, from its INFO."
  (mapconcat (lambda (line) (format "%-12s %s\n" (car line) (cdr line)))
             (cl-remove-if-not #'cdr (reel-text--facts info))
             ""))

(defun reel-text--facts (info)
  "Give pairs of a word and a text about an agent, from its INFO."
  (let ((source (plist-get info :source)))
    `(("name" . ,(plist-get info :name))
      ("id" . ,(plist-get info :id))
      ("title" . ,(plist-get info :title))
      ("alive" . ,(if (eq (plist-get info :alive) t) "yes" "no"))
      ("messages" . ,(number-to-string (plist-get info :messages)))
      ("head" . ,(format "#%d" (plist-get info :head)))
      ("marks" . ,(reel-text--list (reel-text-marks info) "  "))
      ("open calls" . ,(reel-text--list
                        (mapcar (lambda (call) (plist-get call :name)) (plist-get info :open_calls)) "  "))
      ("tags" . ,(reel-text--list
                  (cl-loop for (name value) on (plist-get info :tags) by #'cddr
                           collect (format "%s=%s" (substring (symbol-name name) 1) value))
                  "  "))
      ("cloned from" . ,(and source (format "%s at #%d" (plist-get source :agent) (plist-get source :at))))
      ("created" . ,(reel-text-time (plist-get info :created)))
      ("updated" . ,(reel-text-time (plist-get info :updated)))
      ("attached" . ,(number-to-string (plist-get info :attached)))
      ("prompt" . ,(plist-get info :system)))))

(defun reel-text--list (words separator)
  "Give WORDS with SEPARATOR between them, or nil if there are none."
  (and words (mapconcat #'identity words separator)))

(defun reel-text-marks (info)
  "Give the labels that stand in INFO, newest first, each once."
  (delete-dups
   (delq nil (nreverse (mapcar (lambda (mark) (plist-get mark :label)) (plist-get info :marks))))))

(provide 'reel-text)
;;; reel-text.el ends here
