/**
 * A strict parser of Dockerfiles for tests. It throws at instructions that our Dockerfile does not use.
 */
export interface Instruction {
  /** Upper case: `RUN`. */
  readonly name: string
  /** `--from=build` as `from: 'build'`. */
  readonly flags: Readonly<Record<string, string>>
  /** The arguments of the exec form (`["node", "-e"]`), undefined for the shell form. */
  readonly exec: readonly string[] | undefined
  /** The text after the flags. Continued lines are joined by a space. */
  readonly text: string
  readonly line: number
}

export interface Stage {
  readonly base: string
  /** `AS build`; '' for the last one. */
  readonly name: string
  readonly instructions: readonly Instruction[]
}

export interface Dockerfile {
  /** `ARG`s before the first stage. */
  readonly args: Readonly<Record<string, string>>
  readonly stages: readonly Stage[]
}

const known = new Set(
  'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL STOPSIGNAL USER VOLUME WORKDIR'.split(' '),
)
/** Instructions whose argument may be a JSON list. */
const executable = new Set(['RUN', 'CMD', 'ENTRYPOINT', 'SHELL', 'COPY', 'ADD', 'VOLUME'])

/** Throws an error with the line of the first unsupported instruction. */
export function parseDockerfile(text: string): Dockerfile {
  const args: Record<string, string> = {}
  const stages: { base: string; name: string; instructions: Instruction[] }[] = []
  for (const { line, content } of logicalLines(text)) {
    const instruction = parseInstruction(content, line)
    const current = stages.at(-1)
    if (instruction.name === 'FROM') {
      const match = /^(\S+)(?:\s+AS\s+([a-z][a-z0-9-]*))?$/i.exec(instruction.text)
      if (match?.[1] === undefined) throw errorAt(line, `expected FROM image [AS name], found ${instruction.text}`)
      stages.push({ base: withArgs(match[1], args), name: match[2] ?? '', instructions: [] })
    } else if (current !== undefined) current.instructions.push(instruction)
    else if (instruction.name === 'ARG') Object.assign(args, assignments(instruction))
    else throw errorAt(line, `${instruction.name} before FROM`)
  }
  return { args, stages }
}

/** The `KEY=value` pairs of ENV and ARG; an ARG without a value is ''. */
export function assignments({ name, text, line }: Instruction): Record<string, string> {
  const words = text.match(/[A-Za-z_]\w*(?:=(?:"[^"]*"|\S*))?/g) ?? []
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      if (at === -1 && name === 'ENV') throw errorAt(line, `ENV needs KEY=value, found ${word}`)
      return at === -1 ? [word, ''] : [word.slice(0, at), word.slice(at + 1).replace(/^"(.*)"$/, '$1')]
    }),
  )
}

/** Removes comments, also between continued lines, as Docker does. */
function logicalLines(text: string): { line: number; content: string }[] {
  const lines: { line: number; content: string }[] = []
  let open: { line: number; content: string } | undefined
  for (const [index, raw] of text.split('\n').entries()) {
    const trimmed = raw.trim()
    if (trimmed.startsWith('#') || (trimmed === '' && open === undefined)) continue
    if (trimmed === '') throw errorAt(index + 1, 'an empty line within a continued line')
    const continued = trimmed.endsWith('\\')
    const part = continued ? trimmed.slice(0, -1).trim() : trimmed
    open = open === undefined ? { line: index + 1, content: part } : { ...open, content: `${open.content} ${part}` }
    if (continued) continue
    lines.push(open)
    open = undefined
  }
  if (open !== undefined) throw errorAt(open.line, 'the last line ends with a backslash')
  return lines
}

function parseInstruction(content: string, line: number): Instruction {
  const match = /^([A-Za-z]+)\s+(.+)$/.exec(content)
  const name = match?.[1]?.toUpperCase() ?? ''
  if (!known.has(name)) throw errorAt(line, `not an instruction: ${content}`)
  let rest = match?.[2] ?? ''
  const flags: Record<string, string> = {}
  for (;;) {
    const flag = /^--([a-z-]+)=(\S+)\s+/.exec(rest)
    if (flag === null) break
    flags[flag[1] ?? ''] = flag[2] ?? ''
    rest = rest.slice(flag[0].length)
  }
  const exec = executable.has(name) && rest.startsWith('[') ? words(rest, line) : undefined
  return { name, flags, exec, text: rest, line }
}

/** Parses a JSON list of strings. */
export function words(text: string, line = 0): string[] {
  const value: unknown = JSON.parse(text)
  if (Array.isArray(value) && value.every((word) => typeof word === 'string')) return value
  throw errorAt(line, `expected a list of strings, found ${text}`)
}

function withArgs(text: string, args: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => args[name] ?? '')
}

function errorAt(line: number, message: string): Error {
  return new Error(`Dockerfile:${line}: ${message}`)
}
