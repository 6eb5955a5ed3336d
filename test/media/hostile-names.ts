/**
 * Names of files that would leave their folder, hide, or break a file system, if they were used as paths.
 */
const nul = '\0'

export const hostileNames: readonly string[] = [
  ...['..', '.', '', ' ', '/', '\\', '~', '-', '...', '. .', '..\\', '../'],
  ...['../../../etc/cron.d/evil', '..\\..\\windows\\system32\\evil.dll', '....//....//etc/passwd', 'a/../../b.png'],
  ...[
    '/etc/passwd',
    '//server/share/a.png',
    '\\\\server\\share\\a.png',
    'C:\\evil.exe',
    'C:evil.exe',
    'file:///etc/passwd',
  ],
  ...['~/.ssh/authorized_keys', '$HOME/.bashrc', '`id`.png', '$(id).png', '; rm -rf ~; .png', '| sh', '-rf', '--help'],
  ...['.env', '.bashrc', 'config.yaml', 'state.db', 'gateway.token', 'HOOK.yaml', 'hooks/evil/handler.ts', '__proto__'],
  ...['CON', 'NUL.txt', 'a.png:stream', 'a.png.', 'a.png ', 'a*?<>|".png'],
  ...[`a${nul}.png`, `../..${nul}/etc/passwd`, 'a\nb.png', 'a\r\nset-cookie: x', '\u001b[2Ja.png', '\u0007.png'],
  ...[
    '%2e%2e%2fetc%2fpasswd',
    '%252e%252e/etc/passwd',
    '..%c0%af..%c0%afetc',
    '\uff0e\uff0e\uff0fetc',
    '\u2024\u2024/etc',
  ],
  ...['evil\u202egnp.exe', 'a\u200b.png', '\ufeff../a', 'e\u0301'.repeat(80), '\ud800.png', '𝕒'.repeat(100)],
  ...[
    'a'.repeat(300),
    `${'a'.repeat(251)}.png`,
    `${'a/'.repeat(2_000)}b`,
    '../'.repeat(2_000),
    'a.tar.gz.exe',
    'a.php.png',
  ],
]
