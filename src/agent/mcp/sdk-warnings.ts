/**
 * The SDK writes its warnings to the console. They belong in the log, and they quote names that a server has chosen: on a terminal,
 * control characters in them would be obeyed.
 */
import { format } from 'node:util'

interface Console {
  warn(...values: unknown[]): void
}

const mark = '[mcp-sdk] '

/** Passes warnings of the SDK on, without their mark. Other lines still reach the console. Returns what ends it. */
export function routeSdkWarnings(console: Console, onWarning: (text: string) => void): () => void {
  const original = console.warn
  let isActive = true
  const warn = (...values: unknown[]) => {
    const [first] = values
    if (isActive && typeof first === 'string' && first.startsWith(mark)) onWarning(format(...values).slice(mark.length))
    else Reflect.apply(original, console, values)
  }
  console.warn = warn
  return () => {
    isActive = false
    // A function that has replaced it since still calls this one.
    if (console.warn === warn) console.warn = original
  }
}
