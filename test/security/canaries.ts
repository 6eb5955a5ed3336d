/**
 * Values of `.env` that must not leave the gateway. No pattern of known keys matches them.
 */
const forms: readonly string[] = [
  ...[
    'blue-elephant-4711',
    'correct horse battery',
    'Zq7!pw"quoted"',
    "it's-a-secret",
    'back\\slash\\path',
    'a=b&c=d?e',
  ],
  ...['über-größe-ß', '你好密码很长', '🔑🔒🔓🗝️🔐', 'tab\tinside', 'percent%41%42', '<b>markup</b>'],
  ...[
    '*_`~markdown~`_*',
    '0123456789abcdef',
    'ABCDEFGHJKLMNPQR',
    'aGVsbG8gd29ybGQ',
    '550e8400-e29b-41d4-a716',
    '$' + '{NOT_A_VARIABLE}',
  ],
  ...[
    '{"json":["value"]}',
    '-----dashes-----',
    '//comment//style',
    'x'.repeat(40),
    'with.many.dots.in.it',
    '+49 30 1234567',
  ],
]

export interface Canary {
  /** The variable. */
  readonly name: string
  readonly value: string
}

export const canaries: readonly Canary[] = forms.map((form, index) => ({
  name: `HARMLESS_${index}`,
  value: `${form}#c${String(index).padStart(2, '0')}`,
}))

/** The text of an `.env` with all of them. */
export const canaryFile = canaries.map(({ name, value }) => `${name}=${quoted(value)}\n`).join('')

function quoted(value: string): string {
  return value.includes("'") ? JSON.stringify(value) : `'${value}'`
}
