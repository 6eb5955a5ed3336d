/**
 * Texts of an agent or a tool that attack the terminal that shows them.
 */

/** Texts that would move the cursor, set the title or the clipboard, open links, or hide something. */
export const hostileTexts = [
  '\u001b[2J\u001b[Hgone',
  '\u001b]0;title\u0007',
  '\u001b]52;c;cm0gLXJmIC8=\u0007',
  '\u001b]8;;https://evil.example\u001b\\click\u001b]8;;\u001b\\',
  '\u009b2J\u009d52;c;YQ==\u009c',
  '&#27;[2J&#x9b;2J&#7;',
  'safe\rrm -rf /',
  '\u202egnp.exe\u2066\u2069',
  'a\u0000b\u0008\u0008\u007f',
  '`\u001b[31m` **\u001b[0m** [x](https://e.example/\u001b]52;c;YQ==\u0007)',
  '| \u001b[2J | b |\n|---|---|\n| &#27;]0;x&#7; | \u202e |',
  '```\n\u001bc\n```\n> \u001b[?1049l\n- \u001b[6n',
  '\u001b_pi:c\u0007\u001bP+q544e\u001b\\',
  '\u{e0001}\u{e0068}\u{e0069}',
]
