/**
 * Issues of the configuration.
 */

export interface ConfigIssue {
  /** Name of the file, or `environment`. */
  readonly file: string
  /** Line and column count from 1. */
  readonly line?: number
  readonly column?: number
  /** Dotted path of the value, or '' for the whole file. */
  readonly path: string
  /** The variable that set the value. */
  readonly variable?: string
  readonly expected?: string
  /** A description of the value, without secrets. */
  readonly found?: string
  /** The complete message without location and path. */
  readonly message: string
}

/** `config.yaml:4:12  http.port: expected a number from 1 to 65535, found "abc"` */
export function formatIssue({ file, line, column, path, variable, message }: ConfigIssue): string {
  const location = [file, line, column].filter((part) => part !== undefined).join(':')
  const subject = variable === undefined ? path : `${path} (${variable})`
  return subject === '' ? `${location}  ${message}` : `${location}  ${subject}: ${message}`
}

/** One line per issue, in the order of the file. */
export function formatIssues(issues: readonly ConfigIssue[]): string {
  return issues.map(formatIssue).join('\n')
}

/** `platforms.web.allow_from[2]`; keys with other characters are quoted. */
export function dottedPath(path: readonly PropertyKey[]): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else if (/^[\w-]+$/.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`
    else text += `[${JSON.stringify(String(part).slice(0, 60))}]`
  }
  return text
}
