/**
 * Where toolchains are installed in a home directory. Commands see them, read-only, although they see nothing else of a home: the
 * programs on the PATH would not run without them. Most credentials, such as those of `.cargo` and `.gem`, lie beside what is named
 * here; those that tools keep inside stay hidden (`privatePaths`).
 */
export const toolchainPaths: readonly string[] = [
  // Programs of the user and of several languages
  ...['.local/bin', '.asdf', '.local/share/mise', '.proto', '.sdkman', '.linuxbrew', '.nix-profile'],
  // JavaScript
  ...['.nvm', '.volta', '.fnm', '.local/share/fnm', '.n', '.bun/bin', '.deno/bin', '.npm-global', '.local/share/pnpm'],
  // Python
  ...[
    '.pyenv',
    '.local/lib',
    '.local/share/uv',
    '.local/share/pipx',
    '.local/pipx',
    'miniconda3',
    'miniforge3',
    'anaconda3',
  ],
  // Rust, Go, Java, Ruby, PHP, .NET, Haskell, Dart
  ...[
    '.cargo/bin',
    '.rustup',
    'go/bin',
    '.jenv',
    '.rbenv',
    '.rvm',
    '.phpenv',
    '.dotnet',
    '.ghcup/bin',
    '.pub-cache/bin',
  ],
]
