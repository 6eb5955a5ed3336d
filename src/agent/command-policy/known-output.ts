/**
 * The output of commands whose text determines it: `echo rm`, `pwd`, `mktemp`. Used for `$(…)` and for pipes.
 */
import { type Field, joinLiterals, literalText, textPiece, unknownPiece } from './field.ts'

/** What a command prints; undefined when the output is known only at run time. */
export function knownOutput(name: string, args: readonly Field[], cwd: string | undefined): Field | undefined {
  switch (name) {
    case 'echo':
      return asField(echoOutput(args))
    case 'printf':
      return asField(printfOutput(args))
    case 'pwd':
      return asField(cwd)
    case 'mktemp':
      // A new file in the temporary directory: changing it is harmless.
      return [textPiece('/tmp/'), unknownPiece('$(mktemp)')]
    case 'which':
    case 'command':
      return asField(literalText(args.at(-1)))
    default:
      return undefined
  }
}

const asField = (text: string | undefined): Field | undefined => (text === undefined ? undefined : [textPiece(text)])

/** What `echo` prints; undefined when an argument is unknown. */
export function echoOutput(args: readonly Field[]): string | undefined {
  return joinLiterals(args.filter((field) => !/^-[neE]+$/.test(literalText(field) ?? '')))
}

/** What `printf` prints for a format of plain text and `%s`; undefined for other formats and unknown arguments. */
export function printfOutput(args: readonly Field[]): string | undefined {
  const [format, ...values] = args.map((field) => literalText(field))
  if (format === undefined || values.includes(undefined)) return undefined
  if (/%[^s%]/.test(format)) return undefined
  let next = 0
  return format
    .replace(/%([s%])/g, (_, kind) => (kind === '%' ? '%' : (values[next++] ?? '')))
    .replaceAll('\\n', '\n')
    .replaceAll('\\t', '\t')
}
