/**
 * What is wrong with the configuration, in a form that a person can mend and a program can show.
 */

export interface ConfigProblem {
  /** Name of the file, or `environment`. */
  readonly file: string
  /** Line and column count from 1. */
  readonly line?: number
  readonly column?: number
  /** Dotted path of the value; '' for the file as a whole. */
  readonly path: string
  /** The variable that set the value. */
  readonly variable?: string
  readonly expected?: string
  /** What is there instead. Secrets are never shown. */
  readonly found?: string
  /** The whole sentence, without place and path. */
  readonly message: string
}

/** `config.yaml:4:12  http.port: expected a number from 1 to 65535, found "abc"` */
export function formatProblem({ file, line, column, path, variable, message }: ConfigProblem): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':')
  const subject = variable === undefined ? path : `${path} (${variable})`
  return subject === '' ? `${place}  ${message}` : `${place}  ${subject}: ${message}`
}

/** One line each, in the order of the file. */
export function formatProblems(problems: readonly ConfigProblem[]): string {
  return problems.map(formatProblem).join('\n')
}

/** `platforms.web.allow_from[2]`; keys with other characters are quoted. */
export function dotted(path: readonly PropertyKey[]): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else if (/^[\w-]+$/.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`
    else text += `[${JSON.stringify(String(part).slice(0, 60))}]`
  }
  return text
}
