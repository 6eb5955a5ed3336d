/**
 * The keys of Hermes' `cli-config.yaml.example`, also those that are commented out there.
 */
import { readFileSync } from 'node:fs'

const text = readFileSync(new URL('hermes-example-keys.txt', import.meta.url), 'utf8')

/** Dotted. `<name>` stands for a name that people choose. */
export const hermesExampleKeys: readonly string[] = text
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .flatMap((line) => {
    const [parent = '', keys = ''] = line.split(/: ?/)
    return keys.split(' ').map((key) => (parent === '' ? key : `${parent}.${key}`))
  })
