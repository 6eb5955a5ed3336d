/**
 * What commands that run program text have in common.
 */
import type { Call } from './call.ts'
import { type Field, hasUnknown, literal } from './field.ts'
import { ask, type Finding } from './finding.ts'

export interface RunScript {
  /** Shell text to be judged as a script of its own; undefined when it is not known before it runs. */
  readonly shell?: string | undefined
  readonly finding?: Finding | undefined
}

export const shellText = ask('shell-text', 'runs a command given as text (`-c`); run the command itself instead')
export const unknownText = ask('unknown-script', 'runs program text that is known only when it runs')
export const fedShell = ask('piped-shell', 'feeds what another command prints, or a text, to a shell')
export const evaluates = ask('eval', 'evaluates text as a command')
export const inlineCode = ask(
  'inline-code',
  'runs program text given on the command line or by a pipe; write a file and run that instead',
)

/** What a shell without a script reads from its input. */
export function fed({ input }: Call, finding: Finding): RunScript[] {
  switch (input.kind) {
    case 'none':
      return []
    case 'file':
      return hasUnknown(input.field) ? [{ finding: unknownText }] : []
    case 'open':
      return [{ finding }]
    case 'text':
    case 'pipe':
      return [{ shell: input.text, finding }]
  }
}

export const readsInput = (field: Field | undefined) =>
  field === undefined || /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(literal(field) ?? '')
