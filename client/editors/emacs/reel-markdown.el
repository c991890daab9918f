;;; reel-markdown.el --- Faces for Markdown, and its code blocks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `reel-markdown-mark' marks the code blocks of a text when it is inserted.
;; Faces are added by `reel-markdown-fontify' to the part of a buffer that is
;; shown, so a long conversation costs nothing.
;;
;; The language of a fence is other people's text: only the modes in
;; `reel-markdown--modes' are run, without hooks and without local variables.

;;; Code:

(require 'subr-x)

(defconst reel-markdown--modes
  '(("bash" . sh-mode) ("c" . c-mode) ("cpp" . c++-mode) ("css" . css-mode) ("diff" . diff-mode)
    ("go" . go-mode) ("java" . java-mode) ("javascript" . js-mode) ("js" . js-mode) ("json" . js-mode)
    ("lua" . lua-mode) ("py" . python-mode) ("python" . python-mode) ("ruby" . ruby-mode)
    ("rust" . rust-mode) ("sh" . sh-mode) ("sql" . sql-mode) ("typescript" . typescript-mode)
    ("yaml" . yaml-mode))
  "The mode of each language, by the words that fences use.")

(defconst reel-markdown--opening
  "^ \\{0,3\\}\\(?:\\(?1:```+\\)[ \t]*\\(?2:[^ \t\n`]*\\)[^`\n]*\\|\\(?1:~~~+\\)[ \t]*\\(?2:[^ \t\n]*\\).*\\)$"
  "A fence that opens a code block, and a word (CommonMark, section 4.5).")

(defconst reel-markdown--keywords
  '(("^#\\{1,6\\} .*$" . bold)
    ("\\*\\*[^*\n]+\\*\\*" . bold)
    ("`[^`\n]+`" . font-lock-constant-face))
  "The faces of what is not a code block.")

(defun reel-markdown-mark (text seq)
  "Return TEXT, an answer, with the property `reel-answer', whose value is SEQ.
Each code block in it has the property `reel-code', whose value is a list of the
language and SEQ."
  (with-temp-buffer
    (insert (propertize text 'reel-answer seq))
    (goto-char (point-min))
    (while (re-search-forward reel-markdown--opening nil t)
      (let ((language (match-string-no-properties 2))
            (end (reel-markdown--end (match-string 1))))
        (forward-line)
        (when (< (point) end)
          (put-text-property (point) end 'reel-code (list language seq)))
        (goto-char end)
        (forward-line)))
    (buffer-string)))

(defun reel-markdown-last (property)
  "Return the last text with PROPERTY in the current buffer, and its value.
That is a cons, or nil if there is none."
  (let* ((end (if (get-text-property (max (point-min) (1- (point-max))) property)
                  (point-max)
                (previous-single-property-change (point-max) property)))
         (value (and end (> end (point-min)) (get-text-property (1- end) property))))
    (when value
      (cons (buffer-substring-no-properties
             (previous-single-property-change end property nil (point-min)) end)
            value))))

(defun reel-markdown--end (fence)
  "Return where the code block after point ends, which FENCE has opened."
  (save-excursion
    (forward-line)
    (if (re-search-forward
         (format "^ \\{0,3\\}%s+[ \t]*$" (regexp-quote fence)) nil t)
        (match-beginning 0)
      (point-max))))

(defun reel-markdown-fontify (start end)
  "Add faces between START and END; for `jit-lock-register'."
  (let ((start (save-excursion (goto-char start) (line-beginning-position)))
        (inhibit-read-only t))
    (pcase-dolist (`(,regexp . ,face) reel-markdown--keywords)
      (save-excursion
        (goto-char start)
        (while (re-search-forward regexp end t)
          (unless (or (get-text-property (match-beginning 0) 'reel-code)
                      (get-text-property (match-beginning 0) 'face))
            (put-text-property (match-beginning 0) (match-end 0) 'face face)))))
    (reel-markdown--fontify-code start end)))

(defun reel-markdown--fontify-code (start end)
  "Add the faces of their languages to the code blocks between START and END."
  (while (< start end)
    (let ((code (get-text-property start 'reel-code))
          (next (next-single-property-change start 'reel-code nil (point-max))))
      (when code
        (let ((begin (previous-single-property-change (1+ start) 'reel-code nil (point-min)))
              (mode (cdr (assoc (downcase (car code)) reel-markdown--modes))))
          (when (fboundp mode)
            (reel-markdown--copy-faces begin next mode))))
      (setq start next))))

(defun reel-markdown--copy-faces (begin end mode)
  "Give the text between BEGIN and END the faces that it has in MODE."
  (let ((text (buffer-substring-no-properties begin end))
        (buffer (current-buffer)))
    (with-temp-buffer
      (insert text)
      (setq-local enable-local-variables nil)
      (delay-mode-hooks (funcall mode))
      (font-lock-ensure)
      (let ((position (point-min)))
        (while (< position (point-max))
          (let ((face (get-text-property position 'face))
                (next (next-single-property-change position 'face nil (point-max)))
                (offset (- begin (point-min))))
            (when face
              (put-text-property (+ position offset) (+ next offset) 'face face buffer))
            (setq position next)))))))

(provide 'reel-markdown)
;;; reel-markdown.el ends here
