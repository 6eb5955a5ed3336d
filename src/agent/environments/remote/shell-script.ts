/**
 * Parts of the scripts that run a command in another environment.
 */
import { quoteWord } from '../../../lib/shell-quote.ts'

/** Sets `x` to the shell of a command. `user`: bash if it is there. `sh`: for scripts of the gateway. */
export function chooseShell(shell: 'user' | 'sh'): string {
  return shell === 'sh' ? 'x=sh' : 'x=sh; command -v bash >/dev/null 2>&1 && x=bash'
}

/** One line for each variable. Names that a shell cannot export are left out. */
export function exportLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables)
    .filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
    .map(([name, value]) => `export ${name}=${quoteWord(value)}`)
}
