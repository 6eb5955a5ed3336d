/**
 * What the script in the environment says about itself between the output of the command: the id of its process group before the
 * command runs, and how the command has exited. A random token tells it from output. It arrives on stdin: the command could read
 * the command line of the script.
 */
import { randomBytes } from 'node:crypto'
import { quoteWord } from '../../../lib/shell-quote.ts'
import { quotePath } from './quote.ts'
import { chooseShell } from './shell-script.ts'

export interface ScriptOptions {
  /** The working directory of the command. */
  readonly cwd: string
  /** `user`: bash if it is there. `sh`: for scripts of the gateway. */
  readonly shell: 'user' | 'sh'
  /** The command reads what follows on stdin. Otherwise its stdin is empty. */
  readonly input: boolean
}

export function createToken(): string {
  return randomBytes(16).toString('hex')
}

const mark = '\\036'

/**
 * A script for `sh -c`. It becomes the leader of a process group, reads the token as a line of stdin, says its id, and reads the
 * command from stdin, as lines of `encodeCommand`. If stdin ends before, nothing runs. It outlives the command, also when the
 * group is signalled, so that it can say how the command exited.
 */
export function buildScript({ cwd, shell, input }: ScriptOptions): string {
  const say = (text: string, value = '') => `printf '${mark}%s ${text} %s\\n' "$t" "${value}"`
  const read = `c=; while :; do IFS= read -r l || exit 97; case $l in .) break;; esac; c=$c\${l#?}; done`
  const watch = isWatched({ shell, input }) ? `${watchLink}; ` : ''
  const command = `${read}; ${watch}eval "$(printf %b "$c")"${input ? '' : ' </dev/null'}`
  const leader = [
    'unset t; IFS= read -r t || exit 97',
    `cd -- ${quotePath(cwd)} 2>/dev/null || { ${say('no-folder')}; exit 1; }`,
    chooseShell(shell),
    'trap : TERM INT HUP',
    say('started', '$g'),
    `$x -c ${quoteWord(command)} 2>&1`,
    say('exited', '$?'),
  ].join('\n')
  return [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is text for a shell
    'if IFS= read -r s 2>/dev/null </proc/$$/stat; then set -- ${s##*) }; g=$3',
    "else g=$(ps -o pgid= -p $$ 2>/dev/null | tr -d ' '); fi",
    `b=${quoteWord(leader)}`,
    'if [ "$g" != $$ ] && command -v setsid >/dev/null 2>&1; then exec setsid sh -c "g=\\$\\$; $b"; fi',
    'eval "$b"',
  ].join('\n')
}

/** Whether stdin stays open while the command runs, so that its end ends the command. */
export function isWatched({ shell, input }: Pick<ScriptOptions, 'shell' | 'input'>): boolean {
  return shell === 'user' && !input
}

/**
 * Ends the group when stdin ends before the leader, which is the parent: the link is lost, or the gateway was killed. The
 * process is no child of the shell of the command, so that `wait` and `jobs` there know nothing of it.
 */
const watchLink =
  'exec 3<&0; ( ( trap "" TERM INT HUP; read -r l <&3; if kill -0 $PPID; then kill -TERM -$PPID; sleep 2; kill -KILL -$PPID; fi ) >/dev/null 2>&1 & ); exec 3<&-'

/** The lines that `buildScript` reads. The first one begins with a character that it drops. */
export function encodeCommand(encoded: string): string {
  return `:${encoded}\n.\n`
}

export type InBandMessage =
  /** `group`: 0 if it is unknown. */
  | { readonly type: 'started'; readonly group: number }
  | { readonly type: 'exited'; readonly exitCode: number }
  | { readonly type: 'no-folder' }

export interface InBandReader {
  add(chunk: Buffer): void
  /** The stream has ended: what was held back is output. */
  end(): void
}

/** Output before the script has started is dropped: the startup files of a shell may write some. */
export function createInBandReader(
  token: string,
  onMessage: (message: InBandMessage) => void,
  onOutput: (chunk: Buffer) => void,
): InBandReader {
  const marker = Buffer.from(`\x1e${token} `)
  let rest: Buffer = Buffer.alloc(0)
  let hasStarted = false
  const emit = (chunk: Buffer) => {
    if (hasStarted && chunk.length > 0) onOutput(chunk)
  }
  return {
    add(chunk) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      for (;;) {
        const start = rest.indexOf(marker)
        if (start === -1) {
          const held = partialLength(rest, marker)
          emit(rest.subarray(0, rest.length - held))
          rest = Buffer.from(rest.subarray(rest.length - held))
          return
        }
        const end = rest.indexOf(0x0a, start + marker.length)
        emit(rest.subarray(0, start))
        rest = rest.subarray(start)
        if (end === -1) return
        const message = parseMessage(rest.toString('latin1', marker.length, end - start))
        rest = rest.subarray(end - start + 1)
        if (message?.type === 'started') hasStarted = true
        if (message !== undefined) onMessage(message)
      }
    },
    end() {
      emit(rest)
      rest = Buffer.alloc(0)
    },
  }
}

/** How many bytes at the end may be the beginning of the marker. */
function partialLength(bytes: Buffer, marker: Buffer): number {
  const start = bytes.lastIndexOf(0x1e)
  if (start === -1 || bytes.length - start >= marker.length) return 0
  return marker.subarray(0, bytes.length - start).equals(bytes.subarray(start)) ? bytes.length - start : 0
}

function parseMessage(text: string): InBandMessage | undefined {
  const [name, value] = text.trim().split(' ')
  const number = Number(value)
  if (name === 'no-folder') return { type: 'no-folder' }
  if (name === 'started') return { type: 'started', group: Number.isSafeInteger(number) && number > 1 ? number : 0 }
  return name === 'exited' && Number.isSafeInteger(number) ? { type: 'exited', exitCode: number } : undefined
}
