/**
 * Computes the part of a growing reply that a stream has not sent yet.
 *
 * A stream can only append. Usually each text extends the previous one, and only the new part is sent. Otherwise (a model
 * call was retried in the middle of a reply, or a filter changed the end) the new text follows as a separate paragraph, so
 * that the stream always ends with the final reply.
 */
export interface TextDelta {
  /** Takes the text so far and returns the part to append, '' for none. */
  next(text: string): string
  /** Takes the final text and returns the rest. */
  finish(text: string): string
}

export function createTextDelta(): TextDelta {
  let sent = ''

  const append = (text: string): string => {
    if (text.startsWith(sent)) {
      const rest = text.slice(sent.length)
      sent = text
      return rest
    }
    sent = text
    return `\n\n${text}`
  }

  return {
    next(text) {
      // Trailing whitespace is held back, because the final text may not contain it.
      const visible = withoutLoneSurrogate(text).trim()
      return sent.startsWith(visible) ? '' : append(visible)
    },
    finish(text) {
      const visible = text.trim()
      return visible === '' || visible === sent ? '' : append(visible)
    },
  }
}

/** A chunk of a model may end within a surrogate pair. */
function withoutLoneSurrogate(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text
}
