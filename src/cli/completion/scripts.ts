/**
 * The scripts of the shells. Each finds the command that the words before the cursor name, and offers what may follow it.
 */
import { quoteWord } from '../../lib/shell-quote.ts'

export interface CompletedCommand {
  /** The names from the program to the command; empty for the program. */
  readonly path: string
  /** Subcommands, and values of operands. */
  readonly words: readonly { readonly text: string; readonly summary: string }[]
  readonly options: readonly {
    /** With dashes. */
    readonly names: readonly string[]
    readonly summary: string
    readonly takesValue: boolean
    /** Empty if there may be any. */
    readonly values: readonly string[]
  }[]
}

export type Shell = 'bash' | 'zsh' | 'fish'

type Script = (commands: readonly CompletedCommand[]) => string

export const scripts: Readonly<Record<Shell, Script>> = { bash, zsh, fish }

function bash(commands: readonly CompletedCommand[]): string {
  const words = commands.map(({ path, words: below, options }) => {
    const names = options.flatMap((option) => option.names).join(' ')
    return `    ${quoteWord(path)}) words=${quoteWord(below.map(({ text }) => text).join(' '))} options=${quoteWord(names)} ;;`
  })
  return `# Completes the command hermes in bash: eval "$(hermes completion bash)"
${valueFunction(commands)}
_hermes() {
  local at='' words='' options='' values='' word='' before='' cur="\${COMP_WORDS[COMP_CWORD]}" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}" before="\${COMP_WORDS[i-1]}"
    _hermes_value "$at" "$before" && continue
${stepCase(commands, '    ')}
  done
  if _hermes_value "$at" "\${COMP_WORDS[COMP_CWORD-1]}"; then
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
    return
  fi
  case "$at" in
${words.join('\n')}
  esac
  if [[ $cur == -* ]]; then words="$options"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _hermes hermes
`
}

function zsh(commands: readonly CompletedCommand[]): string {
  const described = (text: string, summary: string) =>
    quoteWord(summary === '' ? text : `${text.replaceAll(':', '\\:')}:${summary}`)
  const words = commands.map(({ path, words: below, options }) => {
    const offered = below.map(({ text, summary }) => described(text, summary)).join(' ')
    const names = options.flatMap((option) => option.names.map((name) => described(name, option.summary))).join(' ')
    return `    ${quoteWord(path)}) offered=(${offered}) options=(${names}) ;;`
  })
  return `#compdef hermes
# Completes the command hermes in zsh: source <(hermes completion zsh)
${valueFunction(commands)}
_hermes() {
  local at='' values='' word='' before='' i
  local -a offered options
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}" before="\${words[i-1]}"
    _hermes_value "$at" "$before" && continue
${stepCase(commands, '    ')}
  done
  if _hermes_value "$at" "\${words[CURRENT-1]}"; then
    if [[ -n $values ]]; then compadd -- \${=values}; else _files; fi
    return
  fi
  case "$at" in
${words.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe option options
  elif (( \${#offered} )); then
    _describe command offered
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _hermes ]]; then _hermes "$@"; else compdef _hermes hermes; fi
`
}

/** Sets `values` if the word before takes a value. */
function valueFunction(commands: readonly CompletedCommand[]): string {
  const cases = valueOptions(commands).map(({ patterns, values }) => {
    return `    ${patterns.map(quoteWord).join('|')}) values=${quoteWord(values.join(' '))} ;;`
  })
  return `_hermes_value() {
  case "$1 $2" in
${cases.join('\n')}
    *) return 1 ;;
  esac
}`
}

/** The options that take a value, as the command and the option with a blank between them. */
function valueOptions(commands: readonly CompletedCommand[]) {
  return commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ names, values }) => ({ patterns: names.map((name) => `${path} ${name}`), values })),
  )
}

/** Goes from a command to its subcommand. */
function stepCase(commands: readonly CompletedCommand[], indent: string): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '')
  return [
    'case "$at $word" in',
    `  ${paths.map((path) => quoteWord(pathPattern(path))).join('|')}) at="\${at:+$at }$word" ;;`,
    'esac',
  ]
    .map((line) => `${indent}${line}`)
    .join('\n')
}

/** The program itself has an empty path, so that a blank stands before the first name. */
function pathPattern(path: string): string {
  return path.includes(' ') ? path : ` ${path}`
}

function fish(commands: readonly CompletedCommand[]): string {
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const paths = commands.map(({ path }) => path).filter((path) => path !== '')
  const takingValue = valueOptions(commands).flatMap(({ patterns }) => patterns)
  const lines = commands.flatMap(({ path, words, options }) => {
    const complete = `complete -c hermes -n ${quote(`__hermes_at ${quote(path)}`)}`
    const described = (summary: string) => (summary === '' ? '' : ` -d ${quote(summary)}`)
    return [
      ...words.map(({ text, summary }) => `${complete} -f -a ${quote(text)}${described(summary)}`),
      ...options.map(({ names, summary, takesValue, values }) => {
        const flags = names.map((name) => (name.startsWith('--') ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`))
        const value = values.length > 0 ? ` -x -a ${quote(values.join(' '))}` : takesValue ? ' -r' : ''
        return `${complete}${flags.join('')}${value}${described(summary)}`
      }),
    ]
  })
  return `# Completes the command hermes in fish: hermes completion fish | source
function __hermes_at
  set -l at ''
  set -l before hermes
  for word in (commandline -opc)[2..]
    if contains -- "$at $before" ${takingValue.map(quote).join(' ')}
      set before $word
      continue
    end
    set before $word
    if contains -- "$at $word" ${paths.map((path) => quote(pathPattern(path))).join(' ')}
      set at (string trim -- "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}
