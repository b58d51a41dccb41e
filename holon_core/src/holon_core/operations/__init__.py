"""Operations: one table, from which protocol, commands and reference pages derive."""
